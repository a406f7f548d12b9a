"""Reading the API key from its file or its variable."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from shrag.cli.options.server import read_api_key
from shrag.serving.errors import KeyRejected
from shrag.serving.http.api_key import ApiKey, write_key_file
from tests.serving.http.test_access import KEY


def test_the_variable_is_taken_out_of_the_environment_so_that_no_child_has_it() -> None:
    environment = {"SHRAG_API_KEY": KEY, "OTHER": "x"}
    key = read_api_key(None, environment)
    assert isinstance(key, ApiKey)
    assert key.matches(KEY)
    assert environment == {"OTHER": "x"}
    assert read_api_key(None, environment) is None


def test_a_key_given_twice_or_empty_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    write_key_file(file, KEY)
    with pytest.raises(click.UsageError, match="given twice"):
        read_api_key(file, {"SHRAG_API_KEY": KEY})
    with pytest.raises(KeyRejected, match="is empty"):
        read_api_key(None, {"SHRAG_API_KEY": ""})


def test_a_file_in_systemds_folder_may_be_open_to_its_group(tmp_path: Path) -> None:
    file = tmp_path / "api-key"
    write_key_file(file, KEY)
    file.chmod(0o440)
    assert read_api_key(file, {"CREDENTIALS_DIRECTORY": str(tmp_path)}) is not None
    with pytest.raises(KeyRejected, match="mode 440"):
        read_api_key(file, {})
