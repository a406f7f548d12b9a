from __future__ import annotations

import pytest

from shrag.models.memory_plan.byte_sizes import both_units, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("50GB", 50_000_000_000),
        ("46.57 GiB", 50_004_156_743),
        ("0.1GB", 100_000_000),
        ("9119mib", 9_561_964_544),
        ("1.0000000001KB", 1_000),
    ],
)
def test_a_size_is_parsed_to_the_byte(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "50", "50G", "-1GB", "1e3GB", "50 GB please", "٥GB", "nanGB", ".5GB"])
def test_a_size_without_a_plain_number_and_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size: write a number and KB"):
        parse_size(text)


def test_fifty_gigabytes_are_printed_in_both_units() -> None:
    assert both_units(parse_size("50GB")) == "50.00 GB (46.57 GiB)"
