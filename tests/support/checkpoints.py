"""Tiny checkpoints with random weights, in the layout and with the configuration that mGTE is published with.

And the same network written down from the maths in plain torch, to compare with: nothing of it is shared with what is
tested.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

VOCABULARY, HIDDEN, HEADS, LAYERS, INNER, POSITIONS = 400, 64, 2, 2, 96, 128
THETA, FACTOR = 20_000.0, 8.0

SENTENCES = [
    "그래핀 필름의 전자파 차폐 효율을 측정하였다",
    "graphene film shielding of electromagnetic waves",
    "사과 과원의 토양 수분을 세 해 동안 측정하였다",
    "soil moisture of apple orchards was measured over three summers at twelve sites",
    "Which planet is known as the Red Planet? 1987",
]


def original_config(**changes: object) -> dict[str, Any]:
    """Return a small configuration with the keys of the published one."""
    return {
        "architectures": ["NewForTokenClassification"],
        "attention_probs_dropout_prob": 0.0,
        "auto_map": {
            "AutoConfig": "Alibaba-NLP/new-impl--configuration.NewConfig",
            "AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel",
        },
        "classifier_dropout": 0.0,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": HIDDEN,
        "initializer_range": 0.02,
        "intermediate_size": INNER,
        "layer_norm_eps": 1e-12,
        "layer_norm_type": "layer_norm",
        "logn_attention_clip1": False,
        "logn_attention_scale": False,
        "max_position_embeddings": POSITIONS,
        "model_type": "new",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "pack_qkv": True,
        "pad_token_id": 1,
        "position_embedding_type": "rope",
        "rope_scaling": {"factor": FACTOR, "type": "ntk"},
        "rope_theta": THETA,
        "torch_dtype": "float16",
        "transformers_version": "4.39.1",
        "type_vocab_size": 1,
        "unpad_inputs": False,
        "use_memory_efficient_attention": False,
        "vocab_size": VOCABULARY,
    } | changes


def make_encoder(folder: Path, seed: int = 0, pooling: str = "cls") -> Path:
    """Write an encoder's folder as published: original keys and configuration, random weights."""
    tensors = _body(seed)
    tensors["classifier.weight"] = torch.randn(1, HIDDEN)
    tensors["classifier.bias"] = torch.randn(1)
    _write(folder, original_config(), tensors)
    (folder / "1_Pooling").mkdir()
    modes = {"word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": pooling == "cls"}
    modes |= {"pooling_mode_mean_tokens": pooling == "mean", "pooling_mode_max_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    return folder


def make_reranker(folder: Path, seed: int = 1, labels: int = 1) -> Path:
    """Write a re-ranker's folder as published."""
    tensors = _body(seed)
    tensors["new.pooler.dense.weight"] = torch.randn(HIDDEN, HIDDEN) / 8
    tensors["new.pooler.dense.bias"] = torch.randn(HIDDEN) / 8
    tensors["classifier.weight"] = torch.randn(labels, HIDDEN) / 4
    tensors["classifier.bias"] = torch.randn(labels)
    config = original_config(
        architectures=["NewForSequenceClassification"], id2label={str(n): f"LABEL_{n}" for n in range(labels)}
    )
    _write(folder, config, tensors)
    return folder


def tokeniser(folder: Path) -> Tokenizer:
    """Return the folder's tokeniser."""
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def reference_outputs(folder: Path, ids: list[int], inverse_frequencies: torch.Tensor | None = None) -> torch.Tensor:
    """Return the last layer's output of one text alone, ``float64[tokens, hidden]``, from the maths.

    Post-layer-norm transformer; rotary embedding by halves with the static NTK scaling; GELU-gated inner layer, ``up``
    stored before ``gate``.
    """
    weights = {
        key.removeprefix("new."): value.double() for key, value in load_file(folder / "model.safetensors").items()
    }
    head = HIDDEN // HEADS
    if inverse_frequencies is None:
        steps = torch.arange(0, head, 2, dtype=torch.float64) / head
        inverse_frequencies = 1 / (THETA * FACTOR) ** steps / FACTOR ** (2 / head)
    angles = torch.outer(torch.arange(len(ids), dtype=torch.float64), inverse_frequencies)
    cos, sin = angles.cos(), angles.sin()

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        scaled = centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-12).sqrt()
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def turn(x: torch.Tensor) -> torch.Tensor:  # [heads, tokens, head]
        first, second = x[..., : head // 2], x[..., head // 2 :]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        own = f"encoder.layer.{layer}"
        packed = x @ weights[f"{own}.attention.qkv_proj.weight"].T + weights[f"{own}.attention.qkv_proj.bias"]
        q, k, v = (part.reshape(len(ids), HEADS, head).transpose(0, 1) for part in packed.chunk(3, dim=-1))
        attention = (turn(q) @ turn(k).transpose(1, 2) / head**0.5).softmax(dim=-1) @ v
        mixed = attention.transpose(0, 1).reshape(len(ids), HIDDEN)
        mixed = mixed @ weights[f"{own}.attention.o_proj.weight"].T + weights[f"{own}.attention.o_proj.bias"]
        x = norm(x + mixed, f"{own}.attn_ln")
        up, gate = (x @ weights[f"{own}.mlp.up_gate_proj.weight"].T).chunk(2, dim=-1)
        gelu = gate * 0.5 * (1 + torch.erf(gate / 2**0.5))
        inner = (gelu * up) @ weights[f"{own}.mlp.down_proj.weight"].T + weights[f"{own}.mlp.down_proj.bias"]
        x = norm(x + inner, f"{own}.mlp_ln")
    return x


def reference_score(folder: Path, ids: list[int]) -> float:
    """Return the re-ranker's one output for a pair's tokens, from the maths: a tanh layer, then a linear one."""
    weights = {key: value.double() for key, value in load_file(folder / "model.safetensors").items()}
    first = reference_outputs(folder, ids)[0]
    pooled = torch.tanh(weights["new.pooler.dense.weight"] @ first + weights["new.pooler.dense.bias"])
    return float(weights["classifier.weight"][0] @ pooled + weights["classifier.bias"][0])


def _body(seed: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(seed)
    tensors = {
        "new.embeddings.word_embeddings.weight": torch.randn(VOCABULARY, HIDDEN),
        "new.embeddings.token_type_embeddings.weight": torch.randn(1, HIDDEN),
    }
    names = ["new.embeddings.LayerNorm"]
    for layer in range(LAYERS):
        own = f"new.encoder.layer.{layer}"
        # Large enough for attention to matter: with near-zero scores a wrong rotary embedding would not show.
        tensors[f"{own}.attention.qkv_proj.weight"] = torch.randn(3 * HIDDEN, HIDDEN) / 4
        tensors[f"{own}.attention.qkv_proj.bias"] = torch.randn(3 * HIDDEN) / 4
        tensors[f"{own}.attention.o_proj.weight"] = torch.randn(HIDDEN, HIDDEN) / 4
        tensors[f"{own}.attention.o_proj.bias"] = torch.randn(HIDDEN) / 4
        tensors[f"{own}.mlp.up_gate_proj.weight"] = torch.randn(2 * INNER, HIDDEN) / 8
        tensors[f"{own}.mlp.down_proj.weight"] = torch.randn(HIDDEN, INNER) / 8
        tensors[f"{own}.mlp.down_proj.bias"] = torch.randn(HIDDEN) / 4
        names += [f"{own}.attn_ln", f"{own}.mlp_ln"]
    for name in names:
        tensors[f"{name}.weight"] = 1 + torch.randn(HIDDEN) / 10
        tensors[f"{name}.bias"] = torch.randn(HIDDEN) / 10
    return tensors


def _write(folder: Path, config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({key: value.contiguous() for key, value in tensors.items()}, folder / "model.safetensors")
    _make_tokeniser().save(str(folder / "tokenizer.json"))


def _make_tokeniser() -> Tokenizer:
    """Return a small unigram tokeniser with the special tokens and the template of XLM-RoBERTa's."""
    words = sorted({f"▁{word}" for sentence in SENTENCES for word in sentence.split()})
    letters = sorted(
        {letter for sentence in SENTENCES for letter in sentence} | set("▁abcdefghijklmnopqrstuvwxyz0123456789")
    )
    pieces = list(dict.fromkeys([*words, *letters]))
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary += [(piece, -float(place)) for place, piece in enumerate(pieces, 1)]
    made = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made
