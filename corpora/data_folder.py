"""The data folder: where corpora, indexes, weights and results are, if a call or a command does not say it.

In this order: ``SHRAG_HOME``; the nearest ``shrag.toml`` in the working folder or above it, whose key ``home`` names
the folder relative to the file, ``var`` beside the file by default; the platform's folder for data of a user, such as
``~/.local/share/shrag``. The other settings are those of the nearest ``shrag.toml``, else of the one in ``SHRAG_HOME``.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shrag.corpora.errors import ConfigurationRejected
from shrag.messages.text import Text

CONFIG_FILE = "shrag.toml"
VARIABLE = "SHRAG_HOME"

_HOME = "home"
_BESIDE_CONFIG = "var"


def data_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the absolute path of the data folder: ``given``, else as the module describes.

    Raises ``ConfigurationRejected`` for a ``shrag.toml`` that cannot be read.
    """
    named = given or os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    config = find_config()
    return platform_folder() if config is None else home_of(config, read_toml(config))


def find_config() -> Path | None:
    """Return the path of the nearest ``shrag.toml`` in the working folder or above it, else that in ``SHRAG_HOME``.

    None if there is none. Above the working folder, a file that belongs to another user (but root) is passed over:
    options such as the command that starts a language model are not taken from strangers.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:  # removed meanwhile
        return None
    folders = [here, *here.parents]
    if home := os.environ.get(VARIABLE):
        folders.append(Path(home).absolute())
    return next((folder / CONFIG_FILE for folder in folders if _has_config(folder, here)), None)


def _has_config(folder: Path, here: Path) -> bool:
    try:
        status = (folder / CONFIG_FILE).stat()
    except OSError:  # there is none, or this user may not look into the folder
        return False
    return stat.S_ISREG(status.st_mode) and (folder == here or status.st_uid in {0, os.geteuid()})


def read_toml(config: Path) -> dict[str, Any]:
    """Return the contents of a TOML file; raises ``ConfigurationRejected`` if it is none."""
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationRejected(Text("{config} is not TOML: {error}.", config=config, error=error)) from None


def home_of(config: Path, contents: Mapping[str, Any]) -> Path:
    """Return the absolute path of the data folder that ``config`` with its ``contents`` names."""
    home = contents.get(_HOME, _BESIDE_CONFIG)
    if not isinstance(home, str) or not home:
        raise ConfigurationRejected(
            Text("{key} in {config} is {value!r}: write the path of a folder.", key=_HOME, config=config, value=home)
        )
    return config.parent / Path(home).expanduser()


def platform_folder() -> Path:
    """Return the platform's folder for data of this user."""
    from platformdirs import user_data_path

    return user_data_path("shrag", appauthor=False).absolute()
