"""What `gblint override` makes of transformers models that break: breaks before and after, and whether outputs agree.

    python benchmarks/override_models.py [NAME ...] [--json FILE] [--keep FOLDER]

Needs torch and transformers (measured with 2.13.0 and 5.24.0). Small models with random weights, backend "eager", one
process for each model. Breaks are counted by Dynamo itself; "fullgraph" says whether the repaired model compiles with
fullgraph=True; "equal" whether its outputs and those of the untouched eager model agree within the tolerance of their
dtype, under one seed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SMALL = {
    "vocab_size": 64, "hidden_size": 32, "d_model": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 37, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64,
    "dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "hidden_dropout": 0.0,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "feat_proj_dropout": 0.0, "final_dropout": 0.0,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
SPEECH = {"conv_dim": (16, 16, 16), "conv_kernel": (10, 3, 3), "conv_stride": (5, 2, 2), "num_feat_extract_layers": 3,
          "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2, "layerdrop": 0.3,
          "mask_time_prob": 0.0, "mask_feature_prob": 0.0, "apply_spec_augment": False}  # fmt: skip
BACKBONE = {"embeddings_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [2, 2, 2, 2], "layer_type": "bottleneck",
            "out_features": ["stage2", "stage3", "stage4"], "model_type": "rt_detr_resnet"}  # fmt: skip
DETECTOR = {"encoder_hidden_dim": 32, "encoder_in_channels": [16, 24, 32], "feat_channels": [32, 32, 32],
            "decoder_in_channels": [32, 32, 32], "num_queries": 12, "num_denoising": 0, "num_feature_levels": 3,
            "decoder_n_points": 2, "hidden_expansion": 0.5, "backbone_config": BACKBONE}  # fmt: skip
SERIES = {"prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 1,
          "embedding_dimension": [4], "cardinality": [3], "num_static_categorical_features": 0, "input_size": 1,
          "encoder_layerdrop": 0.3, "decoder_layerdrop": 0.3}  # fmt: skip
DROP = {"encoder_layerdrop": 0.3, "decoder_layerdrop": 0.3}

LIMIT_S = 1200  # for one model

# name: module, class, settings, kind of inputs, training
MODELS: dict[str, tuple[str, str, dict[str, Any], str, bool]] = {
    "rt_detr": ("rt_detr", "RTDetrModel", DETECTOR, "pixels", True),
    "rt_detr_v2": ("rt_detr_v2", "RTDetrV2Model", DETECTOR, "pixels", True),
    "rt_detr_v2-eval": ("rt_detr_v2", "RTDetrV2Model", DETECTOR, "pixels", False),
    "d_fine": ("d_fine", "DFineModel", DETECTOR, "pixels", True),
    "d_fine-eval": ("d_fine", "DFineModel", DETECTOR, "pixels", False),
    "m2m_100": ("m2m_100", "M2M100Model", DROP, "seq2seq", True),
    "nllb_moe": ("nllb_moe", "NllbMoeModel", {**DROP, "num_experts": 2}, "seq2seq", True),
    "time_series": ("time_series_transformer", "TimeSeriesTransformerModel", SERIES, "series", True),
    "informer": ("informer", "InformerModel", SERIES, "series", True),
    "speecht5": ("speecht5", "SpeechT5Model", {**SPEECH, **DROP}, "speecht5", True),
    "hubert": ("hubert", "HubertModel", SPEECH, "speech", True),
    "wav2vec2": ("wav2vec2", "Wav2Vec2Model", SPEECH, "speech", True),
    "wavlm": ("wavlm", "WavLMModel", SPEECH, "speech", True),
    "unispeech": ("unispeech", "UniSpeechModel", SPEECH, "speech", True),
    "unispeech_sat": ("unispeech_sat", "UniSpeechSatModel", SPEECH, "speech", True),
    "sew": ("sew", "SEWModel", {**SPEECH, "squeeze_factor": 1}, "speech", True),
    "data2vec_audio": ("data2vec", "Data2VecAudioModel", {**SPEECH, "conv_pos_kernel_size": 3}, "speech", True),
    "wav2vec2_bert": ("wav2vec2_bert", "Wav2Vec2BertModel", {**SPEECH, "feature_projection_input_dim": 16},
                      "features", True),
    "ctrl": ("ctrl", "CTRLLMHeadModel", {"n_embd": 32, "n_head": 2, "n_layer": 2, "dff": 32, "n_positions": 64},
             "tokens", False),
    "switch": ("switch_transformers", "SwitchTransformersModel", {"num_experts": 2, "d_kv": 8, "d_ff": 32,
               "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "num_sparse_encoder_layers": 1,
               "num_sparse_decoder_layers": 1, "dropout_rate": 0.0, "router_jitter_noise": 0.0}, "seq2seq", False),
    "dbrx": ("dbrx", "DbrxModel", {"n_heads": 2, "n_layers": 2, "max_seq_len": 64,
             "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 2, "moe_top_k": 1},
             "attn_config": {"kv_n_heads": 1, "rope_theta": 10000.0, "clip_qkv": 8.0}}, "tokens", False),
    "mra": ("mra", "MraModel", {"max_position_embeddings": 64, "block_per_row": 1}, "tokens32", True),
    "encodec": ("encodec", "EncodecModel", {"num_filters": 4, "hidden_size": 8, "codebook_size": 16,
                "num_lstm_layers": 1}, "audio", False),
}  # fmt: skip


def inputs_of(kind: str, config: Any) -> dict[str, Any]:
    """Inputs by kind: pixels [2, 3, 64, 64], tokens [2, 9], speech [2, 1600], series of length 10 …"""
    import torch

    torch.manual_seed(1)
    tokens = torch.randint(3, 60, (2, 9))
    if kind == "pixels":
        return {"pixel_values": torch.randn(2, 3, 64, 64)}
    if kind == "tokens":
        return {"input_ids": tokens}
    if kind == "tokens32":
        return {"input_ids": torch.randint(3, 60, (2, 64))}
    if kind == "seq2seq":
        return {"input_ids": tokens, "decoder_input_ids": tokens.flip(1)}
    if kind == "speech":
        return {"input_values": torch.randn(2, 1600)}
    if kind == "speecht5":
        width = config.hidden_size
        return {"input_values": torch.randn(2, 12, width), "decoder_input_values": torch.randn(2, 7, width)}
    if kind == "features":
        return {"input_features": torch.randn(2, 12, config.feature_projection_input_dim)}
    if kind == "audio":
        return {"input_values": torch.randn(2, 1, 640)}
    past, future = config.context_length + max(config.lags_sequence), config.prediction_length
    return {
        "past_values": torch.randn(2, past),
        "past_time_features": torch.randn(2, past, 1),
        "past_observed_mask": torch.ones(2, past),
        "future_values": torch.randn(2, future),
        "future_time_features": torch.randn(2, future, 1),
    }


def build(name: str) -> tuple[Any, dict[str, Any]]:
    """A small model with random weights, and inputs for it."""
    import torch

    module, cls, settings, kind, training = MODELS[name]
    file = "modeling_data2vec_audio" if module == "data2vec" else f"modeling_{module}"
    source = importlib.import_module(f"transformers.models.{module}.{file}")
    model_class = getattr(source, cls)
    torch.manual_seed(0)
    config_class = model_class.config_class
    known = vars(config_class())
    config = config_class(**{k: v for k, v in SMALL.items() if k in known} | settings)
    return model_class(config).train(training), inputs_of(kind, config)


def run(model: Any, inputs: dict[str, Any]) -> list[Any]:
    """The tensors a model returns, under one seed."""
    import torch
    from torch.utils._pytree import tree_leaves

    torch.manual_seed(2)
    output = model(**inputs)
    leaves = tree_leaves(dict(output) if hasattr(output, "keys") else output)
    return [leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def breaks_of(model: Any, inputs: dict[str, Any], fullgraph: bool = False) -> tuple[int, list[Any], str]:
    """(graph breaks, output tensors, error) of a compiled run."""
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    try:
        outputs = run(torch.compile(model, backend="eager", fullgraph=fullgraph), inputs)
    except Exception as error:
        return sum(counters["graph_break"].values()), [], f"{type(error).__name__}: {error}".partition("\n")[0][:160]
    return sum(counters["graph_break"].values()), outputs, ""


def measure(name: str, module_file: str) -> dict[str, Any]:
    """Runs in a process of its own; module_file is the override that was written, "" for none."""
    model, inputs = build(name)
    expected = run(model, inputs)
    before, _, error = breaks_of(model, inputs)
    result: dict[str, Any] = {"before": before, "error": error}
    if not module_file:
        return result
    spec = importlib.util.spec_from_file_location("ready", module_file)
    assert spec is not None
    assert spec.loader is not None
    ready = sys.modules["ready"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ready)
    model = ready.compile_ready(model)
    eager = run(model, inputs)
    after, outputs, result["error"] = breaks_of(model, inputs)
    _, _, refused = breaks_of(model, inputs, fullgraph=True)
    same = [len(o) == len(expected) and all(map(close, o, expected)) for o in (eager, outputs)]
    return result | {"after": after, "fullgraph": not refused, "equal": all(same), "refused": refused}


def close(a: Any, b: Any) -> bool:
    """Whether two tensors agree within the tolerance of their dtype."""
    import torch

    try:
        torch.testing.assert_close(a, b, equal_nan=True)
    except AssertionError:
        return False
    return True


def override(name: str, folder: Path) -> str:
    """Write the override of a model; its path, "" if there was nothing to repair."""
    module, cls, *_ = MODELS[name]
    file = "modeling_data2vec_audio" if module == "data2vec" else f"modeling_{module}"
    target = folder / f"{name.replace('-', '_')}_ready.py"
    site = Path(importlib.util.find_spec("transformers").origin).parents[1]  # type: ignore[union-attr, arg-type]
    command = [sys.executable, "-m", "gblint", "override", f"transformers.models.{module}.{file}:{cls}"]
    options = ["--python", str(site), "--cache-dir", str(folder / "cache"), "-o", str(target)]
    done = subprocess.run(command + options, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        print(done.stderr, file=sys.stderr)
    return str(target) if target.exists() else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the modules that are written")
    parser.add_argument("--measure", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.names[0], arguments.measure)))
        return 0
    results = {}
    print(f"{'model':18} {'mode':5} {'before':>6} {'after':>6} {'fullgraph':>9} {'equal':>6}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.names:
            results[name] = row = one(name, folder)
            mode = "train" if MODELS[name][4] else "eval"
            cells = [str(row.get(key, "-")) for key in ("before", "after", "fullgraph", "equal")]
            note = row.get("error") or row.get("refused") or ""
            print(f"{name:18} {mode:5} {cells[0]:>6} {cells[1]:>6} {cells[2]:>9} {cells[3]:>6}  {note}", flush=True)
    fewer = [n for n, r in results.items() if "after" in r and r["after"] < r["before"] and r["equal"]]
    none = [n for n in fewer if results[n]["fullgraph"]]
    print(f"{len(fewer)} of {len(results)}: fewer breaks, equal outputs; {len(none)}: none under fullgraph=True")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    return 0


def one(name: str, folder: Path) -> dict[str, Any]:
    """Override and measure one model, in processes of their own."""
    command = [sys.executable, __file__, name, "--measure", override(name, folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {LIMIT_S} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1][:160]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    sys.exit(main())
