"""Run the network of an encoder or a cross-encoder in batches; the only module that imports torch."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from shrag.messages.text import Text
from shrag.models.encoders.catalog import Pooling
from shrag.models.encoders.tokenization import Tokens
from shrag.models.encoders.weights import Weights, stage_weights
from shrag.models.errors import OutOfMemory, PackageMissing, WeightsRejected


@dataclass(slots=True)
class TokenBudget:
    """The most tokens of a batch, including padding; :func:`run_batches` lowers it."""

    tokens: int


def next_batch(lengths: Sequence[int], start: int, budget: int) -> range:
    """Return the indices of the batch that begins at ``start``; it has at least one text.

    Every text of a batch is padded to the length of the longest one, so ``lengths`` should be sorted.
    """
    longest, stop = 0, start
    while stop < len(lengths):
        longest = max(longest, lengths[stop])
        if stop > start and longest * (stop - start + 1) > budget:
            break
        stop += 1
    return range(start, stop)


def run_batches(
    lengths: Sequence[int], budget: TokenBudget, run: Callable[[range], None], out_of_memory: type[BaseException]
) -> None:
    """Call ``run`` with the indices of one batch after another; ``lengths`` are the texts' numbers of tokens.

    If ``run`` raises ``out_of_memory``, the budget is halved and the texts are run again in smaller batches. Raises
    :class:`OutOfMemory` if one text alone does not fit.
    """
    start = 0
    while start < len(lengths):
        batch = next_batch(lengths, start, budget.tokens)
        try:
            run(batch)
        except out_of_memory as error:
            used = len(batch) * max(lengths[batch.start : batch.stop])
            if len(batch) == 1:
                raise OutOfMemory(
                    Text(
                        "A text of {used} tokens does not fit into memory ({error}): free some, for example by "
                        "ending other programs that use the GPU.",
                        used=used,
                        error=error,
                    )
                ) from None
            budget.tokens = max(used // 2, 1)
        else:
            start = batch.stop


Task = Literal["feature-extraction", "sequence-classification"]

# On a GPU, this is about 1 GB of activations at 28 kB a token. On a CPU, larger batches are not faster.
_GPU_TOKENS = 32_768
_CPU_TOKENS = 4_096

# The libraries read these variables when they are imported, so they load models only from their folders.
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


# A GPU computes one batch at a time anyway, and two at once would need twice the memory for activations.
_gpu_turn = threading.Lock()


def limit_gpu_memory(size: int) -> None:
    """Let the networks of this process have at most ``size`` bytes of the GPU, if there is one, beside CUDA's context.

    Without a limit, torch keeps the memory of batches of every shape: on an H100, 60 searches one by one left 1.1 GiB
    more in use than planned. At the limit it gives back what is unused, and batches that still do not fit are halved.
    """
    torch = _import_libraries().torch
    if torch.cuda.is_available():
        _, total = torch.cuda.mem_get_info()
        torch.cuda.set_per_process_memory_fraction(min(size / total, 1.0))


class TorchNetwork:
    """A loaded network, which turns the tokens of each text into one row of numbers; it is thread-safe.

    It runs in half precision on a GPU, and in single precision on a CPU, where half precision is many times slower.
    """

    def __init__(self, libraries: _Libraries, module: Any, key: str, pad_id: int, device: str) -> None:  # noqa: ANN401
        self._torch = libraries.torch
        self._module = module
        self._key = key
        self._pad_id = pad_id
        self.device = device
        self.on_gpu = device.startswith("cuda")
        self._lock = _gpu_turn if self.on_gpu else threading.Lock()
        self.budget = TokenBudget(_GPU_TOKENS if self.on_gpu else _CPU_TOKENS)

    def run(self, tokens: Sequence[Tokens], width: int, *, unit: bool) -> NDArray[np.float32]:
        """Compute the outputs of texts in batches, the longest texts first, and cut them to ``width`` numbers.

        ``unit`` normalizes the rows to unit length. Returns ``float32[n, width]`` in the order of ``tokens``. Raises
        :class:`OutOfMemory` if one text alone does not fit into memory.
        """
        torch = self._torch
        if not tokens:
            return np.empty((0, width), dtype=np.float32)
        order = sorted(range(len(tokens)), key=lambda index: -len(tokens[index]))
        by_length = [tokens[index] for index in order]

        def run_batch(batch: range) -> None:
            try:
                outputs = self._forward(by_length[batch.start : batch.stop])[:, :width].float()
                outputs = torch.nn.functional.normalize(outputs, dim=1) if unit else outputs
                # On a GPU this copy overlaps with the preparation of the next batch.
                host[batch.start : batch.stop].copy_(outputs, non_blocking=True)
            except torch.OutOfMemoryError:
                if self.on_gpu:
                    torch.cuda.empty_cache()
                raise

        with self._lock, torch.inference_mode():
            host = torch.empty((len(tokens), width), dtype=torch.float32, pin_memory=self.on_gpu)
            run_batches([len(each) for each in by_length], self.budget, run_batch, torch.OutOfMemoryError)
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

    def inner_products(self, rows: NDArray[np.floating[Any]], query: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the inner product of a query and each row, by one product on the network's device.

        The product is in double precision, so its first six decimals do not depend on the device.
        """
        torch = self._torch
        matrix = torch.from_numpy(np.ascontiguousarray(rows)).to(self.device)
        vector = torch.from_numpy(np.ascontiguousarray(query)).to(self.device)
        products: NDArray[np.float64] = (matrix.double() @ vector.double()).cpu().numpy()
        return products


_networks: WeakValueDictionary[tuple[str, ...], TorchNetwork] = WeakValueDictionary()
_loading = threading.Lock()


def _load_once(key: tuple[str, ...], load: Callable[[], TorchNetwork]) -> TorchNetwork:
    """Return the network in use that was loaded under ``key``, or load it.

    So several indexes, and two generations of one during a swap, have the weights in memory once.
    """
    with _loading:
        network = _networks.get(key)
        if network is None:
            network = _networks[key] = load()
        return network


def load_encoder_model(weights: Weights, pooling: Pooling, dimension: int, device: str | None = None) -> TorchNetwork:
    """Return an encoder's network, whose card has ``dimension``, loaded unless it is in use already.

    With ``device`` None, it runs on a GPU if there is one.

    Raises :class:`PackageMissing` without torch or sentence-transformers. Raises :class:`WeightsRejected` if the
    weights do not fit their configuration or the dimension, and :class:`OutOfMemory` if they do not fit on the device.
    """
    libraries = _import_libraries()
    device = device or _best_device(libraries.torch)
    key = ("encoder", str(weights.folder), weights.digest, pooling, str(dimension), device)
    return _load_once(key, lambda: _load_encoder(libraries, weights, pooling, dimension, device))


def _load_encoder(
    libraries: _Libraries, weights: Weights, pooling: Pooling, dimension: int, device: str
) -> TorchNetwork:
    transformer = _load(libraries, weights, "feature-extraction", "GteModel", device)
    hidden = transformer.model.config.hidden_size
    if hidden != dimension:
        raise WeightsRejected(
            Text(
                "{folder} gives vectors of {hidden} numbers, its model card says {dimension}: use the weights that "
                "the card describes.",
                folder=weights.folder,
                hidden=hidden,
                dimension=dimension,
            )
        )
    module = _to_device_or_raise(libraries, [transformer, libraries.pooling(hidden, pooling)], device)
    return TorchNetwork(libraries, module, "sentence_embedding", _pad_id(transformer), device)


def load_reranker_model(weights: Weights, device: str | None = None) -> TorchNetwork:
    """Return a cross-encoder's network, which gives one number per pair; as :func:`load_encoder_model` otherwise."""
    libraries = _import_libraries()
    device = device or _best_device(libraries.torch)
    key = ("re-ranker", str(weights.folder), weights.digest, device)
    return _load_once(key, lambda: _load_reranker(libraries, weights, device))


def _load_reranker(libraries: _Libraries, weights: Weights, device: str) -> TorchNetwork:
    transformer = _load(libraries, weights, "sequence-classification", "GteForSequenceClassification", device)
    config = transformer.model.config
    if config.num_labels != 1 or (getattr(config, "type_vocab_size", None) or 1) != 1:
        raise WeightsRejected(
            Text(
                "{folder} gives {num_labels} numbers for a pair and has {type_vocab_size} segment types; a "
                "re-ranker has 1 of each: use another model.",
                folder=weights.folder,
                num_labels=config.num_labels,
                type_vocab_size=config.type_vocab_size,
            )
        )
    return TorchNetwork(
        libraries, _to_device_or_raise(libraries, [transformer], device), "scores", _pad_id(transformer), device
    )


class _Libraries(NamedTuple):
    """The parts of torch, transformers and sentence-transformers that SHRAG uses, without types."""

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
            Text(
                "Encoders and re-rankers need torch and sentence-transformers ({error}): `pip install "
                "'shrag[models]'`.",
                error=error,
            )
        ) from error
    classes = {"feature-extraction": AutoModel, "sequence-classification": AutoModelForSequenceClassification}
    return _Libraries(torch, Transformer, PoolingModule, classes)


def _best_device(torch: Any) -> str:  # noqa: ANN401
    return "cuda" if torch.cuda.is_available() else "cpu"


def _load(libraries: _Libraries, weights: Weights, task: Task, gte_class: str, device: str) -> Any:  # noqa: ANN401
    """Return sentence-transformers' module of a network; raise :class:`WeightsRejected` if a tensor is missing."""
    loaded: dict[str, Any] = {}
    base: Any = libraries.transformer

    class ReportingTransformer(base):  # type: ignore[misc]
        """Records the tensors that are missing in the weights; the library only logs them and fills them at random."""

        def _load_model(self, path: str, task: Task, config: Any, backend: str, is_peft: bool, **options: Any) -> Any:  # noqa: ANN401
            del backend, is_peft
            load = libraries.auto_classes[task].from_pretrained
            model, loaded["report"] = load(path, config=config, output_loading_info=True, **options)
            return model

    dtype = libraries.torch.float16 if device.startswith("cuda") else libraries.torch.float32
    offline = {"local_files_only": True, "trust_remote_code": False}
    with stage_weights(weights, gte_class) as folder:
        try:
            transformer = ReportingTransformer(
                str(folder),
                transformer_task=task,
                # With this option the library reports tensors of a wrong shape, which are rejected below by name.
                model_kwargs={**offline, "dtype": dtype, "use_safetensors": True, "ignore_mismatched_sizes": True},
                processor_kwargs=offline,
                config_kwargs=offline,
            )
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RuntimeError) as error:
            raise WeightsRejected(
                Text(
                    "{folder} cannot be loaded as the model that its config.json describes ({name}: {error}): "
                    "copy the whole folder again, or use another model.",
                    folder=weights.folder,
                    name=type(error).__name__,
                    error=error,
                )
            ) from error
    report = loaded["report"]
    missing = {str(key) for key in report["missing_keys"]} | {str(key[0]) for key in report["mismatched_keys"]}
    if task == "feature-extraction":
        # The pooler, a layer after the first token's vector, is not used; many encoders are published without it.
        missing = {key for key in missing if not key.startswith("pooler.")}
    if missing:
        raise WeightsRejected(
            Text(
                "{folder} lacks {missing_count} tensors of the expected shape, {missing} among them: copy the "
                "whole folder again, or use another model.",
                folder=weights.folder,
                missing_count=len(missing),
                missing=min(missing),
            )
        )
    return transformer


def _to_device_or_raise(
    libraries: _Libraries, modules: Sequence[Any], device: str
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    try:
        module: Any = libraries.torch.nn.Sequential(*modules).eval().to(device)
    except libraries.torch.OutOfMemoryError as error:
        raise OutOfMemory(
            Text(
                "The weights of a model do not fit on {device} ({error}): free some of its memory.",
                device=device,
                error=error,
            )
        ) from None
    return module  # type: ignore[no-any-return]


def _pad_id(transformer: Any) -> int:  # noqa: ANN401
    return int(transformer.model.config.pad_token_id or 0)
