"""A cross-encoder re-ranker scores a question and a passage together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from shrag.messages.text import Text
from shrag.models.encoders.catalog import RerankerCard, find_reranker_card
from shrag.models.encoders.network import TorchNetwork, load_reranker_model
from shrag.models.encoders.tokenization import Tokeniser
from shrag.models.encoders.weights import CONFIG, TOKENIZER, check_weights, find_weights, is_path, longest_input
from shrag.models.errors import WeightsMissing, WeightsRejected
from shrag.models.reranker import Passage

_STEEPEST = 700.0


class CrossEncoderReranker:
    """Implements :class:`~shrag.models.reranker.Reranker`; made by :func:`load_cross_encoder`.

    A score is the logistic function of the model's output, from 0 to 1. Scores below ``threshold`` become minus
    infinity, which means that the passage must not be shown.
    """

    is_model = True

    def __init__(self, name: str, model: TorchNetwork, tokeniser: Tokeniser, threshold: float | None = None) -> None:
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(f"A threshold must be from 0 to 1, got {threshold}.")
        self._model = model
        self._tokeniser = tokeniser
        self._threshold = 0.0 if threshold is None else threshold
        self.name = name if threshold is None else f"{name} ≥ {threshold:g}"

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`; a passage is its title, a space and its text."""
        texts = [f"{passage.title} {passage.text}".strip() for passage in passages]
        outputs = self._model.run(self._tokeniser.pairs(question, texts), 1, unit=False)[:, 0].astype(np.float64)
        scores: list[float] = (1 / (1 + np.exp(-np.clip(outputs, -_STEEPEST, _STEEPEST)))).tolist()
        return [-math.inf if score < self._threshold else score for score in scores]


def load_cross_encoder(
    choice: str, home: Path, threshold: float | None = None, device: str | None = None
) -> CrossEncoderReranker:
    """Load a re-ranker and check its scores; with ``device`` None, it runs on a GPU if there is one.

    ``choice`` is a name in the catalog, with weights below ``home``, or the path of a folder. Raises
    :class:`WeightsMissing` for missing files, and :class:`WeightsRejected` for damaged files, files that are not the
    card's and wrong scores. Raises ``PackageMissing`` without torch or sentence-transformers.
    """
    card = None if is_path(choice) else find_reranker_card(choice)
    if card is None and not is_path(choice):
        raise WeightsMissing(
            Text("The catalogue has no re-ranker {choice!r}: name one of it, or a folder by its path.", choice=choice)
        )
    folder = find_weights(choice, card, home)
    weights = check_weights(card.name if card else folder.name, folder, card)
    card = card or _card_of_folder(folder, weights.config())
    model = load_reranker_model(weights, device)
    tokeniser = Tokeniser(folder / TOKENIZER, card.max_tokens)
    _check(CrossEncoderReranker(card.name, model, tokeniser))
    return CrossEncoderReranker(card.name, model, tokeniser, threshold)


def _card_of_folder(folder: Path, config: Mapping[str, object]) -> RerankerCard:
    max_tokens = longest_input(config)
    if max_tokens is None:
        raise WeightsRejected(
            Text("{folder} gives no max_position_embeddings: use another model.", folder=folder / CONFIG)
        )
    return RerankerCard(name=folder.name, max_tokens=max_tokens)


def _check(reranker: CrossEncoderReranker) -> None:
    """Raise :class:`WeightsRejected` if a score is not finite or depends on the other pairs of the batch."""
    question, passages = "전자파 차폐", [Passage("", text, (), ()) for text in ("그래핀 필름", "apples " * 60, "1987")]
    together = reranker.score(question, passages)
    alone = [reranker.score(question, [passage])[0] for passage in passages]
    if not all(math.isfinite(score) for score in together) or not np.allclose(together, alone, atol=0.01):
        raise WeightsRejected(
            Text(
                "{name} was loaded but scores wrongly: {together} in a batch and {alone} alone; copy its "
                "folder again, or use another re-ranker.",
                name=reranker.name,
                together=together,
                alone=alone,
            )
        )
