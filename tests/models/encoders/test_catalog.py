from __future__ import annotations

import msgspec
import pytest

from shrag.models.encoders.catalog import Catalog, find_encoder_card, find_reranker_card, read_catalog


def test_the_defaults_are_mgte_and_short_names_find_them_in_any_case() -> None:
    catalog = read_catalog()
    assert catalog.encoders[0].name == "gte-multilingual-base"
    assert catalog.rerankers[0].name == "gte-multilingual-reranker-base"
    assert find_encoder_card("GTE") is catalog.encoders[0]
    assert find_reranker_card("gte-reranker") is catalog.rerankers[0]
    assert find_encoder_card("gte-multilingual-reranker-base") is None
    assert find_encoder_card("") is None


def test_the_catalogue_has_the_required_models_under_distinct_names() -> None:
    catalog = read_catalog()
    assert [card.name for card in catalog.encoders] == [
        "gte-multilingual-base",
        "snowflake-arctic-embed-l-v2.0",
        "KURE-v1",
        "bge-m3",
        "bge-base-en-v1.5",
        "multilingual-e5-large",
        "multilingual-e5-small",
    ]
    assert [card.name for card in catalog.rerankers] == [
        "gte-multilingual-reranker-base",
        "bge-reranker-v2-m3",
        "bge-reranker-large",
    ]
    names = [
        name.lower() for card in (*catalog.encoders, *catalog.rerankers) for name in (card.name, card.short) if name
    ]
    assert len(names) == len(set(names))


def test_prefixes_and_pooling_are_those_the_models_were_trained_with() -> None:
    cards = {card.short or card.name: card for card in read_catalog().encoders}
    assert {name: (card.query_prefix, card.passage_prefix, card.pooling) for name, card in cards.items()} == {
        "gte": ("", "", "cls"),
        "arctic": ("query: ", "", "cls"),
        "kure": ("", "", "cls"),
        "bge-m3": ("", "", "cls"),
        "bge-base": ("Represent this sentence for searching relevant passages: ", "", "cls"),
        "e5": ("query: ", "passage: ", "mean"),
        "e5-small": ("query: ", "passage: ", "mean"),
    }


def test_mgtes_file_is_its_parameters_in_half_precision_the_sparse_head_and_a_header() -> None:
    card = read_catalog().encoders[0]
    assert card.weight_bytes == 610_736_640
    assert card.files["model.safetensors"].bytes == 610_736_640 + 2 * 769 + 15_160
    assert card.files["tokenizer.json"].sha256 is None  # not known in full


def test_unknown_facts_of_a_card_are_none() -> None:
    card = find_encoder_card("kure")
    assert card is not None
    assert (card.revision, card.files, card.min_dimension) == (None, {}, None)


def test_a_key_that_no_card_has_is_refused() -> None:
    card = '[[encoders]]\nname = "x"\nmax_tokens = 8\ndimension = 4\npooling = "cls"\n'
    assert msgspec.toml.decode(f"rerankers = []\n{card}", type=Catalog).encoders[0].name == "x"
    with pytest.raises(msgspec.ValidationError, match="unknown field `dimensions`"):
        msgspec.toml.decode(f"rerankers = []\n{card}dimensions = 4\n", type=Catalog)
    with pytest.raises(msgspec.ValidationError, match=r"Invalid enum value 'max'.*pooling"):
        msgspec.toml.decode(f"rerankers = []\n{card.replace('cls', 'max')}", type=Catalog)
