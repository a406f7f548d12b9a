"""Choices of encoders, and what a folder of weights says of itself; no network is loaded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from shrag.messages.text import in_language, message_of
from shrag.models.encoders.catalog import CardFile, EncoderCard, find_encoder_card
from shrag.models.encoders.choice import choose_encoder, find_encoder, split_choice
from shrag.models.encoders.weights import check_weights, find_weights, is_path, longest_input, stage_weights
from shrag.models.errors import WeightsMissing, WeightsRejected

HEADER = b'{"w":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}'
TENSORS = len(HEADER).to_bytes(8, "little") + HEADER + b"xx"
BERT = {"model_type": "bert", "hidden_size": 8, "max_position_embeddings": 512}
CLS = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}


def _write(
    folder: Path,
    config: dict[str, object] | None = None,
    pooling: dict[str, object] | None = None,
    prompts: object = None,
) -> Path:
    """Write a folder of weights with one tensor."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config or BERT))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling or CLS))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(TENSORS)
    if prompts is not None:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    return folder


@pytest.mark.parametrize(
    ("choice", "name", "length"),
    [("gte", "gte", 0), ("gte:256", "gte", 256), ("/w/x:99999", "/w/x", 99_999), ("gte:100000", "gte:100000", 0)],
)
def test_a_length_is_up_to_five_digits_behind_the_last_colon(choice: str, name: str, length: int) -> None:
    assert split_choice(choice) == (name, length)


def test_what_has_a_slash_or_begins_as_paths_do_is_a_path() -> None:
    assert [is_path(choice) for choice in ("a/b", "./a", ".a", "~/a", "~a", "a", "a.b")] == [True] * 5 + [False] * 2


@pytest.mark.parametrize(
    ("prompts", "query", "passage"),
    [
        (None, "", ""),
        ({"query": "query: ", "document": "passage: ", "passage": "not this: "}, "query: ", "passage: "),
        ({"passage": "passage: "}, "", "passage: "),
        (["query"], "", ""),
    ],
)
def test_the_prefixes_are_those_of_the_models_own_file(
    tmp_path: Path, prompts: object, query: str, passage: str
) -> None:
    card = choose_encoder(str(_write(tmp_path / "own", prompts=prompts)), tmp_path).card
    assert (card.query_prefix, card.passage_prefix) == (query, passage)
    assert (card.name, card.dimension, card.max_tokens, card.min_dimension) == ("own", 8, 512, 1)


@pytest.mark.parametrize(
    ("pooling", "chosen"),
    [
        (CLS, "cls"),
        ({"pooling_mode_mean_tokens": True, "word_embedding_dimension": 8}, "mean"),
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode": "cls", "pooling_mode_mean_tokens": True}, "cls"),
    ],
)
def test_the_pooling_is_read_in_its_older_and_its_newer_spelling(
    tmp_path: Path, pooling: dict[str, object], chosen: str
) -> None:
    assert choose_encoder(str(_write(tmp_path / "own", pooling=pooling)), tmp_path).card.pooling == chosen


@pytest.mark.parametrize(
    ("pooling", "chosen"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, r"\['cls', 'mean'\]"),
        ({"pooling_mode_max_tokens": True}, r"\['pooling_mode_max_tokens'\]"),
        ({"pooling_mode_cls_token": 1}, r"\[\]"),
    ],
)
def test_two_poolings_another_or_none_are_rejected(tmp_path: Path, pooling: dict[str, object], chosen: str) -> None:
    with pytest.raises(WeightsRejected, match=rf"config\.json sets the pooling {chosen}, SHRAG supports cls and mean"):
        choose_encoder(str(_write(tmp_path / "own", pooling=pooling)), tmp_path)


def test_staged_weights_are_links_beside_a_configuration_without_code(tmp_path: Path) -> None:
    folder = _write(tmp_path / "own", {**BERT, "auto_map": {"AutoModel": "code.Model"}})
    with stage_weights(check_weights("own", folder), "unused") as staged:
        assert json.loads((staged / "config.json").read_text()) == BERT
        assert not (staged / "config.json").is_symlink()
        assert (staged / "model.safetensors").resolve() == folder / "model.safetensors"
        assert (staged / "tokenizer.json").resolve() == folder / "tokenizer.json"
    assert not staged.exists()
    assert "auto_map" in json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize(
    ("kind", "positions", "tokens"),
    [
        ("bert", 512, 512),
        ("xlm-roberta", 8_194, 8_192),
        ("roberta", 514, 512),
        ("camembert", 514, 512),
        ("mpnet", 514, 512),
    ],
)
def test_reserved_positions_are_no_tokens(kind: str, positions: int, tokens: int) -> None:
    assert longest_input({"model_type": kind, "max_position_embeddings": positions}) == tokens
    assert longest_input({"model_type": kind}) is None
    assert longest_input({"model_type": kind, "max_position_embeddings": "many"}) is None


@pytest.mark.parametrize("missing", ["hidden_size", "max_position_embeddings"])
def test_a_configuration_without_its_sizes_is_rejected(tmp_path: Path, missing: str) -> None:
    config = {key: value for key, value in BERT.items() if key != missing}
    with pytest.raises(WeightsRejected, match=r"config\.json gives no hidden_size or max_position_embeddings"):
        choose_encoder(str(_write(tmp_path / "own", config)), tmp_path)


def test_vectors_can_be_cut_as_far_as_the_card_allows(tmp_path: Path) -> None:
    folder = _write(tmp_path / "own")
    assert [choose_encoder(f"{folder}{cut}", tmp_path).dimension for cut in ("", ":8", ":1", ":0")] == [8, 8, 1, 8]
    with pytest.raises(
        WeightsRejected, match="Vectors of own can have from 1 to 8 dimensions, not 9: choose such"
    ) as raised:
        choose_encoder(f"{folder}:9", tmp_path)
    assert "own의 벡터는 1~8차원이" in in_language(message_of(raised.value), "ko")
    settings = choose_encoder(f"{folder}:4", tmp_path)
    assert settings.settings == (
        "transformer 1: own, 4 of 8 dimensions, cls pooling, 512 tokens, prefixes '' and '', "
        f"weights {settings.digest[:16]}"
    )


def test_weights_are_found_under_each_name_of_the_card_and_nowhere_else(tmp_path: Path) -> None:
    card = find_encoder_card("gte")
    assert card is not None
    with pytest.raises(
        WeightsMissing, match=r"gte-multilingual-base \(licence Apache-2\.0\) there, with its config\.json"
    ):
        find_weights("gte", card, tmp_path)
    # Each comes before those that were there already.
    for name in ("models--Alibaba-NLP--gte-multilingual-base", "gte", "gte-multilingual-base"):
        (tmp_path / name).mkdir()
        assert find_encoder("gte:256", tmp_path) == (card, tmp_path / name)
    with pytest.raises(WeightsMissing, match="The catalogue has no encoder 'own': name one of it, or a folder"):
        find_encoder("own", tmp_path)
    with pytest.raises(WeightsMissing, match=r"There are no weights at none: copy the folder of \./none there"):
        find_encoder("./none", tmp_path)


def test_of_a_hubs_cache_the_cards_revision_counts_else_main_else_the_only_one(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    snapshots = cache / "snapshots"
    snapshots.mkdir(parents=True)
    card = EncoderCard(name="x", max_tokens=8, dimension=8, pooling="cls", revision="r1")
    with pytest.raises(WeightsMissing, match="snapshots is empty: copy the whole folder of the cache"):
        find_weights(str(cache), card, tmp_path)
    (snapshots / "r2").mkdir()
    (snapshots / "notes.txt").touch()
    assert find_weights(str(cache), card, tmp_path) == snapshots / "r2"
    (snapshots / "r3").mkdir()
    with pytest.raises(
        WeightsRejected, match=r"snapshots has 2 snapshots and no refs/main: name one of them by its path"
    ):
        find_weights(str(cache), card, tmp_path)
    (cache / "refs").mkdir()
    for main in ("../../elsewhere", "r9", "r3\n"):
        (cache / "refs" / "main").write_text(main)
        if main != "r3\n":
            with pytest.raises(WeightsRejected, match="has 2 snapshots"):
                find_weights(str(cache), None, tmp_path)
    assert find_weights(str(cache), None, tmp_path) == snapshots / "r3"
    (snapshots / "r1").mkdir()
    assert find_weights(str(cache), card, tmp_path) == snapshots / "r1"


def test_the_files_of_a_card_have_its_sizes_and_checksums(tmp_path: Path) -> None:
    folder = _write(tmp_path / "own")
    right = {
        "model.safetensors": CardFile(len(TENSORS), hashlib.sha256(TENSORS).hexdigest()),
        "tokenizer.json": CardFile(bytes=2),
    }

    def card(**files: CardFile) -> EncoderCard:
        return EncoderCard(name="own", max_tokens=8, dimension=8, pooling="cls", files={**right, **files})

    assert set(check_weights("own", folder, card()).files) == {"config.json", "tokenizer.json", "model.safetensors"}
    for file, says in (
        (CardFile(bytes=len(TENSORS) - 1), f"it has {len(TENSORS)} bytes and SHA-256 .*, the catalogue has"),
        (CardFile(sha256="0" * 64), f"the catalogue has any and {'0' * 64}; copy it again"),
    ):
        with pytest.raises(
            WeightsRejected, match=rf"model\.safetensors is not the model\.safetensors of own: .*{says}"
        ):
            check_weights("own", folder, card(**{"model.safetensors": file}))
    with pytest.raises(
        WeightsRejected, match=r"merges\.txt is not the .*: it has -1 bytes and SHA-256 none, the .* 7 and any"
    ):
        check_weights("own", folder, card(**{"merges.txt": CardFile(bytes=7)}))


def test_an_incomplete_or_a_pickled_model_is_rejected(tmp_path: Path) -> None:
    folder = _write(tmp_path / "own")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(WeightsMissing, match=r"own has no tokenizer\.json: copy the whole folder of it"):
        check_weights("it", folder)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(TENSORS[:-1])
    with pytest.raises(WeightsRejected, match=r"model\.safetensors is truncated"):
        check_weights("it", folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(WeightsMissing, match=r"own has no model\.safetensors: copy the whole folder"):
        check_weights("it", folder)
    (folder / "pytorch_model.bin").touch()
    with pytest.raises(WeightsRejected, match=r"has its weights as pytorch_model\.bin, a pickle that can run code"):
        check_weights("it", folder)
    index = folder / "model.safetensors.index.json"
    for names in ({"w": "../w.safetensors"}, {"w": "w.bin"}, {"w": 1}, {}, ["w.safetensors"]):
        index.write_text(json.dumps({"weight_map": names}))
        with pytest.raises(WeightsRejected, match="does not name safetensors files of its own folder"):
            check_weights("it", folder)
    index.write_text(json.dumps({"weight_map": {"w": "b.safetensors", "v": "a.safetensors", "u": "b.safetensors"}}))
    (folder / "a.safetensors").write_bytes(TENSORS)
    with pytest.raises(WeightsMissing, match=r"own has no b\.safetensors"):
        check_weights("it", folder)
    (folder / "b.safetensors").write_bytes(TENSORS)
    assert [path.name for path in check_weights("it", folder).tensors] == ["a.safetensors", "b.safetensors"]
