from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from shrag.evaluation.errors import ResultsMismatch
from shrag.evaluation.experiments.run_card import check_identity, identity_fingerprint, index_identity, read_card
from shrag.indexing.storage.generations import current_generation
from shrag.indexing.storage.manifest import manifest_digest

pytestmark = pytest.mark.slow


def test_the_card_says_what_was_asked_of_what_by_which_code_on_which_machine_and_when(results_folder: Path) -> None:
    card = read_card(results_folder)
    assert card.fingerprint == identity_fingerprint(card.identity)
    assert card.identity.experiment.title == "Small"
    assert (card.identity.questions["demo"].topics, card.identity.indexes["demo"].records) == (10, 235)
    assert card.identity.indexes["demo"].vectors is not None
    assert len(card.identity.prompts) == len(card.code.digest) == 64
    assert card.identity.code == card.code.digest
    assert card.identity.versions["kiwipiepy"]
    assert card.hardware.cores >= 1
    assert card.hardware.memory_bytes > 2**28
    (session,) = card.sessions
    assert session.command == ("shrag", "experiment", "small.toml")
    assert session.started <= session.ended
    assert session.threads >= 1


def test_the_card_names_the_build_of_each_index_by_the_digest_of_its_manifest(
    results_folder: Path, demo_home: Path
) -> None:
    _, manifest = current_generation(demo_home / "indexes" / "demo")
    (made,) = read_card(results_folder).generations.values()
    assert (made.generation, made.created, made.manifest) == (1, manifest.created, manifest_digest(manifest))


def test_two_builds_of_the_same_index_are_the_same_to_a_card(three_generations: Path, demo_home: Path) -> None:
    _, first = current_generation(demo_home / "indexes" / "demo")
    _, third = current_generation(three_generations / "indexes" / "demo")
    assert first.generation != third.generation
    assert index_identity(first) == index_identity(third)


def test_an_encoder_in_a_folder_is_named_without_its_path(demo_home: Path) -> None:
    _, manifest = current_generation(demo_home / "indexes" / "demo")
    assert manifest.vectors is not None
    vectors = msgspec.structs.replace(manifest.vectors, encoder="/home/someone/weights/tiny")
    found = index_identity(msgspec.structs.replace(manifest, vectors=vectors))
    assert found.vectors is not None
    assert found.vectors.encoder == "tiny"


def test_every_difference_is_found_and_the_first_named_with_both_values(results_folder: Path) -> None:
    identity = read_card(results_folder).identity
    check_identity(results_folder, identity, identity)
    other = msgspec.structs.replace(identity, prompts="0", versions={**identity.versions, "numpy": "0", "new": "1"})
    with pytest.raises(ResultsMismatch) as caught:
        check_identity(results_folder, identity, other)
    assert f'(prompts was "{identity.prompts[:36]}… and is "0" and 2 more)' in str(caught.value)
    assert str(caught.value).endswith("resume it as it was started, or give another folder with --output.")


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"identity": 5}', b"[" * 100_000])
def test_a_card_that_is_none_is_refused(results_folder: Path, tmp_path: Path, content: bytes) -> None:
    shutil.copytree(results_folder, tmp_path / "copy")
    (tmp_path / "copy" / "card.json").write_bytes(content)
    with pytest.raises(ResultsMismatch, match=r"card.json is not a run card \(.*\): run the experiment again"):
        read_card(tmp_path / "copy")


def test_results_of_an_older_format_are_refused_in_one_sentence(results_folder: Path, tmp_path: Path) -> None:
    card = msgspec.json.decode((results_folder / "card.json").read_bytes())
    card["identity"] |= {"format_version": 2, "chance": card["identity"].pop("stochastic_conditions")}
    (tmp_path / "card.json").write_bytes(msgspec.json.encode(card))
    with pytest.raises(ResultsMismatch) as caught:
        read_card(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} holds results of format 2, and this version of SHRAG reads format 4: run the experiment again "
        "into another folder."
    )


def test_a_folder_without_a_card_holds_no_results(tmp_path: Path) -> None:
    with pytest.raises(ResultsMismatch, match=r"holds no results .* give a folder that `shrag experiment` wrote"):
        read_card(tmp_path)
