from __future__ import annotations

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from shrag.models.encoders.catalog import CardFile, EncoderCard, read_catalog
from shrag.models.encoders.choice import canonical_choice
from shrag.models.encoders.weights import check_weights, find_weights, is_path
from shrag.models.errors import WeightsMissing, WeightsRejected

REVISION = "9bbca17d9273fd0d03d5725c7a4b0f6b45142062"


@pytest.fixture
def folder(encoder_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny encoder's folder that a test may change."""
    return Path(shutil.copytree(encoder_folder, tmp_path / "weights" / "tiny"))


def _card(**files: CardFile) -> EncoderCard:
    named = {name.replace("_", "."): file for name, file in files.items()}
    return EncoderCard(name="tiny", max_tokens=8, dimension=64, pooling="cls", files=named)


def test_the_digest_covers_all_files_that_determine_the_output(folder: Path) -> None:
    weights = check_weights("tiny", folder)
    assert set(weights.files) == {"config.json", "tokenizer.json", "model.safetensors"}
    assert weights.files["config.json"] == sha256((folder / "config.json").read_bytes()).hexdigest()
    assert check_weights("renamed", folder).digest == weights.digest
    (folder / "README.md").write_text("words")
    assert check_weights("tiny", folder).digest == weights.digest
    for name in sorted(weights.files):
        changed = Path(shutil.copytree(folder, folder.with_name(f"changed-{name}")))
        data = bytearray((changed / name).read_bytes())
        data[-2] ^= 1
        (changed / name).write_bytes(data)
        assert check_weights("tiny", changed).digest != weights.digest


def test_a_file_changed_in_place_has_another_digest(folder: Path) -> None:
    before = check_weights("tiny", folder).digest
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert check_weights("tiny", folder).digest != before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(WeightsMissing, match=f"has no {name}: copy the whole folder of tiny"):
        check_weights("tiny", folder)


def test_the_home_of_a_user_who_does_not_exist_is_missing_weights() -> None:
    choice, says = "~no-such-user/w", "There is no home folder of a user for ~no-such-user/w: give the whole path"
    with pytest.raises(WeightsMissing, match=says):
        canonical_choice(choice)
    with pytest.raises(WeightsMissing, match=says):
        find_weights(choice, None, Path())


def test_pickled_weights_are_refused_by_name(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(WeightsRejected, match=r"pytorch_model\.bin, a pickle that can run code"):
        check_weights("tiny", folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(WeightsMissing, match=r"has no model\.safetensors"):
        check_weights("tiny", folder)


def test_cut_weights_are_refused_before_they_are_loaded(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(WeightsRejected, match="is truncated: 191886 bytes of data, 386564 by its header"):
        check_weights("tiny", folder)


def test_what_the_card_knows_of_a_file_is_checked(folder: Path) -> None:
    digest = sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    size = (folder / "model.safetensors").stat().st_size
    for right in (CardFile(size, digest), CardFile(None, digest), CardFile(size, None), CardFile()):
        check_weights("tiny", folder, _card(model_safetensors=right))
    for wrong in (CardFile(size + 1, digest), CardFile(None, "0" * 64), CardFile(1, None)):
        with pytest.raises(WeightsRejected, match=r"is not the model\.safetensors of tiny: it has .* copy it again"):
            check_weights("tiny", folder, _card(model_safetensors=wrong))


def test_random_weights_under_mgtes_name_are_not_mgte(folder: Path) -> None:
    card = read_catalog().encoders[0]
    with pytest.raises(WeightsRejected, match=r"610753338 and f5a35a10faa5"):
        check_weights(card.name, folder, card)


def test_an_index_may_only_name_files_of_its_folder(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    listing = folder / "model.safetensors.index.json"
    listing.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}))
    with pytest.raises(WeightsMissing, match=r"has no model-2\.safetensors"):
        check_weights("tiny", folder)
    listing.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors"}}))
    assert [path.name for path in check_weights("tiny", folder).tensors] == ["model-1.safetensors"]
    for hostile in ({"a": "../model-1.safetensors"}, {"a": "/etc/x.safetensors"}, {"a": "x.bin"}, {"a": 1}, {}, [1]):
        listing.write_text(json.dumps({"weight_map": hostile}))
        with pytest.raises(WeightsRejected, match="does not name safetensors files of its own folder"):
            check_weights("tiny", folder)


def test_a_catalogue_name_is_searched_in_the_home_under_all_its_names(tmp_path: Path) -> None:
    card = read_catalog().encoders[0]
    with pytest.raises(WeightsMissing) as missing:
        find_weights("gte", card, tmp_path)
    assert str(missing.value) == (
        f"There are no weights at {tmp_path}/gte-multilingual-base: copy the folder of "
        "Alibaba-NLP/gte-multilingual-base (licence Apache-2.0) there, with its config.json, "
        "tokenizer.json and safetensors files; SHRAG downloads nothing."
    )
    for name in ("gte", "gte-multilingual-base"):
        (tmp_path / name).mkdir()
        assert find_weights("gte", card, tmp_path) == tmp_path / name


def test_the_layout_of_a_hubs_cache_is_supported(tmp_path: Path, folder: Path) -> None:
    card = read_catalog().encoders[0]
    cache = tmp_path / "home" / "models--Alibaba-NLP--gte-multilingual-base"
    (cache / "refs").mkdir(parents=True)
    blobs = cache / "blobs"
    shutil.copytree(folder, blobs)
    for revision in (REVISION, "a" * 40):
        (cache / "snapshots" / revision).mkdir(parents=True)
        for name in ("config.json", "tokenizer.json", "model.safetensors"):
            (cache / "snapshots" / revision / name).symlink_to(blobs / name)
    found = find_weights("gte", card, tmp_path / "home")
    assert found == cache / "snapshots" / REVISION  # the card's own
    assert check_weights("tiny", found).digest == check_weights("tiny", folder).digest
    with pytest.raises(WeightsRejected, match="has 2 snapshots and no refs/main"):
        find_weights(str(cache), None, tmp_path)
    (cache / "refs" / "main").write_text("a" * 40)
    assert find_weights(str(cache), None, tmp_path) == cache / "snapshots" / ("a" * 40)
    (cache / "refs" / "main").write_text("../../..")
    with pytest.raises(WeightsRejected, match="2 snapshots"):
        find_weights(str(cache), None, tmp_path)
    shutil.rmtree(cache / "snapshots")
    (cache / "snapshots").mkdir()
    with pytest.raises(WeightsMissing, match="is empty"):
        find_weights(str(cache), None, tmp_path)


def test_a_path_is_what_has_a_slash_or_begins_with_a_dot(tmp_path: Path) -> None:
    assert [is_path(each) for each in ("gte", "bge-m3", "./gte", "/w/gte", "~/gte", ".", "w/gte")] == [
        False,
        False,
        *[True] * 5,
    ]
    with pytest.raises(WeightsMissing, match=r"There are no weights at .*nothing"):
        find_weights(str(tmp_path / "nothing"), None, tmp_path)


def test_a_configuration_must_be_an_object(folder: Path) -> None:
    weights = check_weights("tiny", folder)
    for broken in (b"[]", b"{", b"\xff", b"[" * 100_000):
        (folder / "config.json").write_bytes(broken)
        with pytest.raises(WeightsRejected, match="cannot be read"):
            weights.config()
