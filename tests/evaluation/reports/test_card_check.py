"""A run card against the archive that its index was carried in, and against the files beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.corpora.errors import CorpusError
from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import RunCard, read_card
from shrag.evaluation.reports.card_check import check_card, check_result_files
from shrag.indexing.maintenance.transfer import export_index, import_index

pytestmark = pytest.mark.slow


@pytest.fixture
def card(results_folder: Path) -> RunCard:
    return read_card(results_folder)


@pytest.fixture
def carried(demo_home: Path, tmp_path: Path) -> Path:
    path = tmp_path / "demo.tar"
    export_index(demo_home / "indexes", "demo", path)
    return path


def test_a_card_agrees_with_the_archive_of_its_index(card: RunCard, carried: Path) -> None:
    said = check_card(card, carried)
    assert said.startswith("They agree: the index demo of the run card is the index demo in ")
    assert "with 235 records and the same bytes in each of " in said
    bundle = Path("carry.tar")
    assert "is the index demo in carry.tar, with 235 records" in check_card(card, carried, bundle)


def test_it_agrees_whatever_name_and_number_an_import_gave_the_index(
    card: RunCard, carried: Path, three_generations: Path, tmp_path: Path
) -> None:
    before = tmp_path / "before.tar"
    export_index(three_generations / "indexes", "demo", before)
    import_index(tmp_path / "indexes", before, "sci")
    assert import_index(tmp_path / "indexes", carried, "sci").generation == 2
    again = tmp_path / "sci.tar"
    export_index(tmp_path / "indexes", "sci", again)
    assert "is the index sci in " in check_card(card, again)


def test_another_index_does_not_agree_and_the_first_difference_is_named(
    card: RunCard, three_generations: Path, tmp_path: Path
) -> None:
    identity = msgspec.structs.replace(card.identity.indexes["demo"], records=236)
    other = msgspec.structs.replace(card.generations["demo"], manifest="0" * 64)
    changed = _with(card, identity={"demo": identity}, generations={"demo": other})
    archive = tmp_path / "other.tar"
    export_index(three_generations / "indexes", "demo", archive)
    with pytest.raises(ResultsMismatch, match=r"the index demo in .*other\.tar \(records was 236 and is 235\)"):
        check_card(changed, archive)
    unchanged = _with(card, generations={"demo": other})
    with pytest.raises(ResultsMismatch, match="another build of the same records and settings"):
        check_card(unchanged, archive)
    with pytest.raises(ResultsMismatch, match="the card does not say which index was searched"):
        check_card(_with(card, generations={}), archive)


def _with(card: RunCard, *, identity: dict[str, object] | None = None, generations: dict[str, object]) -> RunCard:
    """Return the card with other indexes, and the fingerprint of these."""
    from shrag.evaluation.experiments.run_card import identity_fingerprint

    indexes = identity if identity is not None else card.identity.indexes
    changed = msgspec.structs.replace(card.identity, indexes=indexes)
    return msgspec.structs.replace(
        card, identity=changed, fingerprint=identity_fingerprint(changed), generations=generations
    )


def test_a_card_that_was_changed_and_an_archive_that_is_damaged_are_refused(card: RunCard, carried: Path) -> None:
    forged = msgspec.structs.replace(card, identity=msgspec.structs.replace(card.identity, prompts="0" * 64))
    with pytest.raises(ResultsMismatch, match="The run card was changed after it was written"):
        check_card(forged, carried)
    data = bytearray(carried.read_bytes())
    data[len(data) // 2] ^= 1
    carried.write_bytes(data)
    with pytest.raises(CorpusError, match="does not have the checksum of the header"):
        check_card(card, carried)


def test_results_are_those_of_their_card_until_one_is_changed(
    card: RunCard, results_folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "results"
    shutil.copytree(results_folder, copy)
    assert check_result_files(card, copy).startswith(f"The {len(card.files)} files in ")
    with (copy / "demo" / "or.run").open("a") as file:
        file.write("x")
    with pytest.raises(ResultsMismatch, match=r"\(demo/or\.run is missing, new or changed\)"):
        check_result_files(card, copy)
    with pytest.raises(ResultsMismatch, match=r"\(every file is missing, new or changed\)"):
        check_result_files(msgspec.structs.replace(card, files={}), tmp_path / "indexes")
