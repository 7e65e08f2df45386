"""Does `gblint verify` list the breaks that were recorded for real models, site by site?

    python benchmarks/verify_models.py                 # all, a process for each: some minutes
    python benchmarks/verify_models.py ctrl sequencer  # those whose name holds one of the words

Each model of `MODELS` is built small, from a configuration with random weights, and called once under
`torch.compile(backend="eager")`, by the runner that `gblint verify` uses. What it lists is compared with
`verify_models.json`: places, by (file, row, id), recorded independently with torch 2.13.0 (CPU), Python 3.11 and the
libraries of `corpus/truth/modeling-requirements.txt`, which have to be importable here too. Places recorded as
*secondary* (they are there only because an earlier break made Dynamo enter a frame on its own, or the recompile limit
was hit, which depends on sizes) are shown and not counted. Exits with 1 if a model differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBRARIES = ("transformers", "diffusers", "timm")
RECORDED = Path(__file__).with_suffix(".json")

Built = tuple[Any, dict[str, Any]]
Place = tuple[str, int, str]

# Sizes that most configurations of transformers know under one of these names.
SMALL = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embed_dim": 32,
    "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "depth": 2,
    "encoder_layers": 2, "decoder_layers": 2, "num_decoder_layers": 2,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "num_key_value_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "intermediate_size": 64, "d_ff": 64, "dff": 64, "ffn_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "vocab_size": 128, "d_kv": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- models


def transformer(name: str, inputs: Callable[[Any], dict[str, Any]], **settings: Any) -> Callable[[], Built]:
    """A model class of transformers with a small configuration of its own class."""

    def build() -> Built:
        import transformers

        cls = getattr(transformers, name)
        small = {key: value for key, value in SMALL.items() if hasattr(cls.config_class(), key)}
        config = cls.config_class(**(small | settings))
        return cls(config), inputs(config)

    return build


def image_model(name: str, size: int) -> Callable[[], Built]:
    """A model of timm, as it is."""

    def build() -> Built:
        import timm
        import torch

        return timm.create_model(name, pretrained=False), {"x": torch.rand(1, 3, size, size)}

    return build


def diffuser(name: str, inputs: Callable[[], dict[str, Any]], **settings: Any) -> Callable[[], Built]:
    def build() -> Built:
        import diffusers

        return getattr(diffusers, name)(**settings), inputs()

    return build


def tokens(config: Any) -> dict[str, Any]:
    import torch

    return {"input_ids": torch.randint(3, 100, (2, 16))}


def both(config: Any) -> dict[str, Any]:
    return tokens(config) | {"decoder_input_ids": tokens(config)["input_ids"]}


def pixels(size: int, name: str = "pixel_values") -> Callable[[Any], dict[str, Any]]:
    def make(config: Any) -> dict[str, Any]:
        import torch

        return {name: torch.rand(1, 3, size, size)}

    return make


def waves(length: int, channels: int = 1) -> Callable[[Any], dict[str, Any]]:
    def make(config: Any) -> dict[str, Any]:
        import torch

        return {"input_values": torch.rand(1, channels, length) if channels else torch.rand(1, length)}

    return make


def latents() -> dict[str, Any]:
    import torch

    return {"sample": torch.rand(1, 3, 32, 32)}


MODELS: dict[str, Callable[[], Built]] = {
    "CTRLLMHeadModel": transformer("CTRLLMHeadModel", tokens),
    "DbrxModel": transformer(
        "DbrxModel", tokens, n_layers=2,
        attn_config={"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 1e4},
        ffn_config={"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2},
    ),
    "SwitchTransformersEncoderModel": transformer(
        "SwitchTransformersEncoderModel", tokens, num_sparse_encoder_layers=1
    ),
    "SwitchTransformersModel": transformer(
        "SwitchTransformersModel", both, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1
    ),
    "BigBirdPegasusModel": transformer("BigBirdPegasusModel", both),
    "BigBirdPegasusForConditionalGeneration": transformer("BigBirdPegasusForConditionalGeneration", both),
    "FastSpeech2ConformerModel": transformer("FastSpeech2ConformerModel", tokens, hidden_size=384),
    "EncodecModel": transformer("EncodecModel", waves(2400)),
    "MimiModel": transformer("MimiModel", waves(3840), hidden_size=512, num_attention_heads=8, num_key_value_heads=8),
    "GPT2Model": transformer("GPT2Model", tokens),
    "OPTModel": transformer("OPTModel", tokens, word_embed_proj_dim=32),
    "T5Model": transformer("T5Model", both),
    "MBartModel": transformer("MBartModel", both),
    "ViTModel": transformer("ViTModel", pixels(224)),
    "RobertaModel": transformer("RobertaModel", tokens),
    "SmolLM3Model": transformer("SmolLM3Model", tokens),
    "HeliumModel": transformer("HeliumModel", tokens, head_dim=8),
    "HubertModel": transformer("HubertModel", waves(4000, 0)),
    "MobileNetV1Model": transformer("MobileNetV1Model", pixels(224)),
    "sequencer2d_s": image_model("sequencer2d_s", 224),
    "test_vit": image_model("test_vit", 160),
    "test_resnet": image_model("test_resnet", 160),
    "test_byobnet": image_model("test_byobnet", 160),
    "test_efficientnet": image_model("test_efficientnet", 160),
    "mobilenetv3_small_050": image_model("mobilenetv3_small_050", 224),
    "ghostnet_050": image_model("ghostnet_050", 224),
    "convit_tiny": image_model("convit_tiny", 224),
    "xcit_nano_12_p8_224": image_model("xcit_nano_12_p8_224", 224),
    "starnet_s1": image_model("starnet_s1", 224),
    "AutoencoderKL": diffuser("AutoencoderKL", latents, block_out_channels=(32,), norm_num_groups=8),
    "AsymmetricAutoencoderKL": diffuser(
        "AsymmetricAutoencoderKL", latents, norm_num_groups=8,
        down_block_out_channels=(32,), up_block_out_channels=(32,),
    ),
}  # fmt: skip


def call(name: str) -> None:
    """Build a model and call it once, compiled."""
    import torch

    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model = model.eval()
    with torch.no_grad():
        torch.compile(model, backend="eager")(**inputs)


# --------------------------------------------------------------------------------------------------------- comparing


def listed(name: str, timeout: float) -> tuple[dict[Place, int], str]:
    """The places that verification lists for a model, by how often, and why it ended badly ("" if it did not)."""
    from gblint.verify.prove import observe

    folders = {library: Path(spec.submodule_search_locations[0]) for library, spec in _specs()}
    words = [sys.executable, __file__, "--call", name]
    seen = observe(words, timeout=timeout, folders=folders.values())
    found = {}
    for site in seen.sites:
        if site.owner == "yours" and not site.silent:
            file = next(f"{lib}/{Path(site.filename).relative_to(top)}" for lib, top in folders.items()
                        if Path(site.filename).is_relative_to(top))  # fmt: skip
            found[file, site.row, site.code] = site.count
    return found, seen.trouble


def _specs() -> list[tuple[str, Any]]:
    found = [(library, importlib.util.find_spec(library)) for library in LIBRARIES]
    if missing := [library for library, spec in found if spec is None]:
        sys.exit(f"not installed: {', '.join(missing)}; see corpus/truth/modeling-requirements.txt")
    return found


def compare(name: str, recorded: list[tuple[str, int, str, bool]], timeout: float) -> bool:
    """Print how a model fares; whether it agrees with what was recorded."""
    start = time.monotonic()
    found, trouble = listed(name, timeout)
    wanted = {(file, row, code) for file, row, code, secondary in recorded if not secondary}
    secondary = {(file, row, code) for file, row, code, secondary in recorded if secondary}
    missing, extra = wanted - set(found), set(found) - wanted - secondary
    agrees = not (missing or extra or trouble)
    says = "agrees" if agrees else "DIFFERS"
    seconds = time.monotonic() - start
    others = f", {len(secondary & set(found))} of {len(secondary)} secondary" if secondary else ""
    print(
        f"{name:<42}{says:<10}{len(wanted & set(found))} of {len(wanted)} places{others}  ({seconds:.0f} s)", flush=True
    )
    for what, places in (("not listed", missing), ("not recorded", extra)):
        for file, row, code in sorted(places):
            print(f"    {what}: {code} {file}:{row}")
    if trouble:
        print(f"    {trouble}")
    return agrees


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    parser.add_argument("--timeout", type=float, default=300)
    options = parser.parse_args()
    if options.call:
        call(options.call)
        return 0
    recorded = json.loads(RECORDED.read_text("utf-8"))
    names = [n for n in MODELS if not options.words or any(word.lower() in n.lower() for word in options.words)]
    results = {name: compare(name, [tuple(place) for place in recorded[name]], options.timeout) for name in names}
    agree = sum(results.values())
    print(f"{agree} of {len(results)} models agree with what was recorded")
    return int(agree < len(results))


if __name__ == "__main__":
    sys.exit(main())
