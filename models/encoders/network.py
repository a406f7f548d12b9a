"""Run an encoder's or a cross-encoder's network; the only module that imports torch and sentence-transformers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shrag.models.encoders.catalog import Pooling
from shrag.models.encoders.token_batches import TokenBudget, run_batches
from shrag.models.encoders.tokenization import Tokens
from shrag.models.encoders.weights import Weights, stage_weights
from shrag.models.errors import OutOfMemory, PackageMissing, WeightsRejected

Task = Literal["feature-extraction", "sequence-classification"]

# Of a gigabyte of activations on a GPU at 28 kB a token; on a CPU a batch is as fast as a text after a few hundred.
_GPU_TOKENS = 32_768
_CPU_TOKENS = 4_096

# Set before the libraries are imported, which read them then: no model is looked for anywhere but in its folder.
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


class TorchNetwork:
    """A loaded network: tokens → one row of numbers a text. Safe to share between threads.

    Half precision on a GPU, single on a CPU, where half is many times slower.
    """

    def __init__(self, libraries: _Libraries, module: Any, key: str, pad_id: int, device: str) -> None:  # noqa: ANN401
        self._torch = libraries.torch
        self._module = module
        self._key = key
        self._pad_id = pad_id
        self._lock = threading.Lock()
        self.device = device
        self.on_gpu = device.startswith("cuda")
        self.budget = TokenBudget(_GPU_TOKENS if self.on_gpu else _CPU_TOKENS)

    def rows(self, tokens: Sequence[Tokens], width: int, *, unit: bool) -> NDArray[np.float32]:
        """Return ``float32[n, width]`` in the order of ``tokens``: the first ``width`` numbers of each text's output.

        With ``unit`` each row is then made unit length. Batches are made by the budget of the longest texts first, so
        that what does not fit is found at once. Raises :class:`~shrag.models.errors.OutOfMemory`.
        """
        torch = self._torch
        if not tokens:
            return np.empty((0, width), dtype=np.float32)
        order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))
        inorder = [tokens[place] for place in order]

        def run(batch: range) -> None:
            try:
                outputs = self._forward(inorder[batch.start : batch.stop])[:, :width].float()
                outputs = torch.nn.functional.normalize(outputs, dim=1) if unit else outputs
                # On a GPU the copy back goes on while the next batch is made ready.
                host[batch.start : batch.stop].copy_(outputs, non_blocking=True)
            except torch.OutOfMemoryError:
                if self.on_gpu:
                    torch.cuda.empty_cache()
                raise

        with self._lock, torch.inference_mode():
            host = torch.empty((len(tokens), width), dtype=torch.float32, pin_memory=self.on_gpu)
            run_batches([len(each) for each in inorder], self.budget, run, torch.OutOfMemoryError)
            if self.on_gpu:
                torch.cuda.synchronize(self.device)
        rows = np.empty((len(tokens), width), dtype=np.float32)
        rows[order] = host.numpy()
        return rows

    def _forward(self, batch: Sequence[Tokens]) -> Any:  # noqa: ANN401
        longest = max(len(each) for each in batch)
        ids = np.full((len(batch), longest), self._pad_id, dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.int64)
        for row, each in enumerate(batch):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        features = {"input_ids": self._to_device(ids), "attention_mask": self._to_device(mask)}
        return self._module(features)[self._key]

    def _to_device(self, array: NDArray[np.int64]) -> Any:  # noqa: ANN401
        tensor = self._torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.on_gpu else tensor


def load_encoder_model(weights: Weights, pooling: Pooling, dimension: int, device: str | None = None) -> TorchNetwork:
    """Load an encoder's network, on a GPU where there is one and no ``device`` is named.

    Raises :class:`PackageMissing`, :class:`WeightsRejected` where the weights are not those of their configuration, and
    :class:`OutOfMemory`.
    """
    libraries = _import_libraries()
    device = device or _best_device(libraries.torch)
    transformer = _load(libraries, weights, "feature-extraction", "GteModel", device)
    hidden = transformer.model.config.hidden_size
    if hidden != dimension:
        raise WeightsRejected(f"{weights.folder} gives vectors of {hidden} numbers, its card says {dimension}.")
    module = _to_device_or_raise(libraries, [transformer, libraries.pooling(hidden, pooling)], device)
    return TorchNetwork(libraries, module, "sentence_embedding", _pad_id(transformer), device)


def load_reranker_model(weights: Weights, device: str | None = None) -> TorchNetwork:
    """Load a cross-encoder's network, whose rows are one number each; raises as :func:`load_encoder_model` does."""
    libraries = _import_libraries()
    device = device or _best_device(libraries.torch)
    transformer = _load(libraries, weights, "sequence-classification", "GteForSequenceClassification", device)
    config = transformer.model.config
    if config.num_labels != 1 or (getattr(config, "type_vocab_size", None) or 1) != 1:
        raise WeightsRejected(
            f"{weights.folder} gives {config.num_labels} numbers a pair and has {config.type_vocab_size} kinds of "
            "segment, where a re-ranker gives 1 and has 1: use another model."
        )
    return TorchNetwork(
        libraries, _to_device_or_raise(libraries, [transformer], device), "scores", _pad_id(transformer), device
    )


class _Libraries(NamedTuple):
    """What is used of the libraries; they are typed too loosely to be worth more than Any."""

    torch: Any
    transformer: Any
    pooling: Any
    auto_classes: dict[str, Any]


def _import_libraries() -> _Libraries:
    os.environ.update(_OFFLINE)
    try:
        import torch
        from sentence_transformers.base.modules import Transformer
        from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule
        from transformers import AutoModel, AutoModelForSequenceClassification
    except ImportError as error:
        raise PackageMissing(
            f"Encoders and re-rankers need torch and sentence-transformers ({error}): "
            "`pip install -c constraints.txt 'shrag[models]'`."
        ) from error
    classes = {"feature-extraction": AutoModel, "sequence-classification": AutoModelForSequenceClassification}
    return _Libraries(torch, Transformer, PoolingModule, classes)


def _best_device(torch: Any) -> str:  # noqa: ANN401
    return "cuda" if torch.cuda.is_available() else "cpu"


def _load(libraries: _Libraries, weights: Weights, task: Task, gte_class: str, device: str) -> Any:  # noqa: ANN401
    """Return sentence-transformers' module of a network, every tensor of which is known to come from the weights."""
    kept: dict[str, Any] = {}
    base: Any = libraries.transformer

    class ReportingTransformer(base):  # type: ignore[misc]
        """Keeps what the library says of tensors it did not find: it would make numbers up for them, and only log."""

        def _load_model(self, path: str, task: Task, config: Any, backend: str, is_peft: bool, **options: Any) -> Any:  # noqa: ANN401
            del backend, is_peft
            load = libraries.auto_classes[task].from_pretrained
            model, kept["report"] = load(path, config=config, output_loading_info=True, **options)
            return model

    dtype = libraries.torch.float16 if device.startswith("cuda") else libraries.torch.float32
    offline = {"local_files_only": True, "trust_remote_code": False}
    with stage_weights(weights, gte_class) as folder:
        try:
            transformer = ReportingTransformer(
                str(folder),
                transformer_task=task,
                # Shapes that do not fit are reported, too, and refused below by their names.
                model_kwargs={**offline, "dtype": dtype, "use_safetensors": True, "ignore_mismatched_sizes": True},
                processor_kwargs=offline,
                config_kwargs=offline,
            )
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RuntimeError) as error:
            raise WeightsRejected(
                f"{weights.folder} cannot be loaded as the model that its config.json describes "
                f"({type(error).__name__}: {error}): carry over the whole folder, or use another model."
            ) from error
    report = kept["report"]
    missing = {str(key) for key in report["missing_keys"]} | {str(key[0]) for key in report["mismatched_keys"]}
    if task == "feature-extraction":
        # A layer over the first token that vectors are not taken from; many encoders are published without.
        missing = {key for key in missing if not key.startswith("pooler.")}
    if missing:
        raise WeightsRejected(
            f"{weights.folder} has no {min(missing)} of the shape it should have, and lacks {len(missing)} tensors in "
            "all: carry over the whole folder, or use another model."
        )
    return transformer


def _to_device_or_raise(
    libraries: _Libraries, modules: Sequence[Any], device: str
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    try:
        module: Any = libraries.torch.nn.Sequential(*modules).eval().to(device)
    except libraries.torch.OutOfMemoryError as error:
        raise OutOfMemory(
            f"The weights of a model do not fit on {device} ({error}): free some of its memory."
        ) from None
    return module  # type: ignore[no-any-return]


def _pad_id(transformer: Any) -> int:  # noqa: ANN401
    return int(transformer.model.config.pad_token_id or 0)
