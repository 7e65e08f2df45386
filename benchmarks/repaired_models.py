"""What `gblint fix` gains on models: graphs, compile time, time of a call and memory, before and after.

    python benchmarks/repaired_models.py [--repeat 3] [--calls 30] [--backend inductor]

Takes the models of `corpus/models`, repairs a copy with `gblint fix --unsafe-fixes`, and measures one training step
(forward and backward) of two of them in both versions, in turn, each run in a process of its own. All figures come from
this one session, each run with empty caches of the backend.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from gblint.checking import Options
from gblint.cli.bench import table
from gblint.fixing.plan import Choice
from gblint.fixing.session import repair
from gblint.verify.bench import Target, measure

MODELS = Path(__file__).parents[1] / "corpus" / "models"
MAKERS = """\
import torch

from zoo.diffusion import Denoiser, DiffusionLoss, NoiseSchedule
from zoo.policy import ActorCritic, PolicyLoss


def training(loss_of, *inputs):
    compiled = torch.compile(loss_of, backend=BACKEND)

    def step():
        result = compiled(*inputs)
        (result[0] if isinstance(result, tuple) else result).backward()

    step._torchdynamo_orig_callable = loss_of  # it is compiled already, and `backward` stays outside
    return step


def diffusion():
    loss_of = DiffusionLoss(Denoiser(), NoiseSchedule())
    return training(loss_of, torch.randn(4, 3, 16, 16), torch.randint(0, 4, (4,)))


def policy():
    batch = {
        "observation": torch.randn(40, 6),
        "action": torch.randint(0, 3, (40,)),
        "log_prob": torch.full((40,), -1.1),
        "advantage": torch.randn(40),
        "return": torch.randn(40),
    }
    return training(PolicyLoss(ActorCritic()), batch)
"""
NAMES = ("diffusion", "policy")


def versions(scratch: Path, backend: str) -> list[str]:
    """Copies of the models as they are and repaired, each with functions that make what is measured; what was done."""
    for version in ("before", "after"):
        shutil.copytree(MODELS, scratch / version, ignore=shutil.ignore_patterns("__pycache__"))
    repaired = repair(Options(paths=(str(scratch / "after"),), isolated=True, no_cache=True), Choice(unsafe=True))
    repaired.write()
    for version in ("before", "after"):
        (scratch / version / "makers.py").write_text(MAKERS.replace("BACKEND", repr(backend)))
    return [f"{Path(s.finding.filename).name}:{s.finding.row} {s.fix.codemod}" for s in repaired.made]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each version")
    parser.add_argument("--calls", type=int, default=30, help="training steps timed in each run")
    parser.add_argument("--backend", default="inductor")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        print("repaired:", *versions(scratch, given.backend), sep="\n  ")
        for name in NAMES:
            targets = {
                version: Target(f"{scratch / version / 'makers.py'}:{name}", given.calls)
                for version in ("before", "after")
            }
            print(f"\n{name}")
            print("\n".join(table(measure(targets, given.repeat, cold=True))), flush=True)


if __name__ == "__main__":
    main()
