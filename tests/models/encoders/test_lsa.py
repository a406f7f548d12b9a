from __future__ import annotations

import errno
import math
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shrag.models.encoders.choice import LsaOptions
from shrag.models.encoders.lsa import TERMS_FILE, VOCABULARY_FILE, LsaEncoder, fit_lsa, load_lsa
from shrag.models.reranker import Passage

# Deerwester et al.'s own example: five titles on human-computer interaction, four on graphs.
TITLES = [
    "human interface computer",
    "survey user computer system response time",
    "eps user interface system",
    "system human system eps",
    "user response time",
    "trees",
    "graph trees",
    "graph minors trees",
    "graph minors survey",
]
DOCUMENTS = [title.split() for title in TITLES]


def split(texts: Sequence[str]) -> list[list[str]]:
    """Stand for an analyser."""
    return [text.split() for text in texts]


def passages(texts: Sequence[str]) -> list[Passage]:
    """Return passages as an index has them, without a title."""
    return [Passage("", text, [], [text.split()]) for text in texts]


def reference(documents: list[list[str]], questions: list[list[str]], dimension: int) -> NDArray[np.float64]:
    """Return the cosine of each question and document by a whole decomposition, written anew."""
    vocabulary = sorted({term for document in documents for term in document})

    def weigh(texts: list[list[str]]) -> NDArray[np.float64]:
        rows = np.zeros((len(texts), len(vocabulary)))
        for row, text in enumerate(texts):
            for term, count in Counter(text).items():
                if term in vocabulary:
                    frequency = sum(term in document for document in documents)
                    idf = math.log((1 + len(documents)) / (1 + frequency)) + 1
                    rows[row, vocabulary.index(term)] = (1 + math.log(count)) * idf
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows

    directions = np.linalg.svd(weigh(documents))[2][:dimension].T
    near = [weigh(texts) @ directions for texts in (questions, documents)]
    near = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in near]
    cosines: NDArray[np.float64] = near[0] @ near[1].T
    return cosines


def test_cosines_equal_those_of_numpys_full_decomposition() -> None:
    questions = ["human computer", "graph", "system system user"]
    encoder = fit_lsa(DOCUMENTS, split, LsaOptions(dimension=2))
    cosines = encoder.encode_queries(questions) @ encoder.encode_passages(passages(TITLES)).T
    assert np.allclose(cosines, reference(DOCUMENTS, split(questions), 2), atol=2e-3)
    # The example's point: nearer to every title on interaction, even one without a shared word, than to any on graphs.
    assert cosines[0, :5].min() > 0.8
    assert cosines[0, 5:].max() < 0.3


def test_the_first_vector_of_the_example_is_pinned() -> None:
    (vector,) = fit_lsa(DOCUMENTS, split, LsaOptions(dimension=2)).encode_queries(["human computer"])
    assert vector.dtype == np.float32
    assert np.abs(vector) == pytest.approx([0.1248, 0.9922], abs=1e-3)


@pytest.mark.process
def test_fitting_again_gives_the_same_bits_in_another_process() -> None:
    code = (
        "from shrag.models.encoders.lsa import fit_lsa; from shrag.models.encoders.choice import LsaOptions\n"
        "documents = [[f't{(n * m) % 61}' for m in range(1, 20)] for n in range(300)]\n"
        "print(fit_lsa(documents, lambda texts: [t.split() for t in texts], LsaOptions(dimension=16)).digest)"
    )
    documents = [[f"t{(n * m) % 61}" for m in range(1, 20)] for n in range(300)]
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    digests = {fit_lsa(documents, split, LsaOptions(dimension=16)).digest for _ in range(2)}
    assert digests == {other}


def test_an_error_of_the_disk_has_its_number(tmp_path: Path) -> None:
    documents = [[f"t{(n * m) % 997}" for m in range(1, 20)] for n in range(300)]
    encoder = fit_lsa(documents, split, LsaOptions(dimension=16))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # the vocabulary and the beginning of the rows fit
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            encoder.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG


def test_saved_and_opened_it_is_the_same(tmp_path: Path) -> None:
    encoder = fit_lsa(DOCUMENTS, split, LsaOptions(dimension=3))
    encoder.save(tmp_path)
    opened = load_lsa(tmp_path, split, encoder.settings)
    assert (opened.digest, opened.settings, opened.dimension) == (encoder.digest, encoder.settings, 3)
    assert (opened.encode_queries(["graph trees"]) == encoder.encode_queries(["graph trees"])).all()


def test_files_that_do_not_belong_together_are_not_opened(tmp_path: Path) -> None:
    encoder = fit_lsa(DOCUMENTS, split, LsaOptions(dimension=3))
    encoder.save(tmp_path)
    (tmp_path / VOCABULARY_FILE).write_text('["graph"]')
    with pytest.raises(ValueError, match="float16"):
        load_lsa(tmp_path, split, encoder.settings)
    np.save(tmp_path / TERMS_FILE, np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        load_lsa(tmp_path, split, encoder.settings)


@pytest.mark.parametrize(
    ("documents", "dimension"),
    [([], 0), ([[]], 0), ([["a"]], 1), ([["a", "b"], ["a", "b"]], 1), ([["a"], ["b"], ["c"]], 3)],
    ids=["no documents", "an empty one", "one", "two alike", "fewer than dimensions"],
)
def test_the_dimension_is_at_most_the_rank(documents: list[list[str]], dimension: int) -> None:
    encoder = fit_lsa(documents, split, LsaOptions())
    assert encoder.dimension == dimension
    vectors = encoder.encode_passages([Passage("", "", [], [terms]) for terms in documents])
    assert vectors.shape == (len(documents), dimension)
    if dimension:
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(documents)), abs=1e-6)


def test_a_vocabulary_too_large_keeps_the_terms_in_most_documents() -> None:
    encoder = fit_lsa([["a", "b"], ["a", "c"], ["b", "a"]], split, LsaOptions(vocabulary=2))
    assert (encoder.encode_queries(["c"]) == 0).all()
    assert (encoder.encode_queries(["a c"]) == encoder.encode_queries(["a"])).all()


def test_no_more_documents_are_read_than_wanted() -> None:
    def documents() -> list[list[str]]:
        return [["a", "b"], ["b", "c"], ["never"]]

    encoder = fit_lsa(documents(), split, LsaOptions(documents=2))
    assert (encoder.encode_queries(["never"]) == 0).all()


@pytest.mark.parametrize("term", ["한국어", '"', "\\", "a,b", "\u2028", "\x1c", "𝔘", "'; DROP TABLE", "__proto__"])
def test_a_term_may_hold_any_character(term: str, tmp_path: Path) -> None:
    encoder = fit_lsa([[term, "b"], ["b", "c"]], lambda texts: [[text] for text in texts], LsaOptions())
    encoder.save(tmp_path)
    opened = load_lsa(tmp_path, lambda texts: [[text] for text in texts], encoder.settings)
    assert np.linalg.norm(opened.encode_queries([term])) == pytest.approx(1, abs=1e-6)


def test_a_document_of_a_million_terms_is_fit_in_part_and_encoded_in_full() -> None:
    long = [f"t{n}" for n in range(100_000)] * 10
    encoder = fit_lsa([long, ["t0", "t1"]], split, LsaOptions())
    assert len(encoder.encode_passages([Passage("", "", long, [])])) == 1


def test_what_was_chosen_is_in_the_settings() -> None:
    names = [LsaOptions(**{field: 7}).settings for field in LsaOptions.__struct_fields__]
    assert len({*names, LsaOptions().settings}) == len(names) + 1
    assert isinstance(fit_lsa([], split, LsaOptions()), LsaEncoder)
