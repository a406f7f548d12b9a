"""The data folder, which holds corpora, indexes, weights and results unless a call or a command names another.

The data folder is the first of these that exists:

1. the value of ``SHRAG_HOME``;
2. the key ``home`` of the nearest ``shrag.toml`` in the working folder or above it. The path is relative to that file,
   and the default is ``var`` beside it;
3. the platform's folder for user data, such as ``~/.local/share/shrag``.

The other settings come from the nearest ``shrag.toml``, or else from the one in ``SHRAG_HOME``.
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
    """Return the absolute path of the data folder: ``given``, or else the folder that the module describes.

    Raises ``ConfigurationRejected`` if ``shrag.toml`` is not TOML or its ``home`` is not a path.
    """
    named = given or os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    config = find_config()
    return platform_folder() if config is None else home_of(config, read_toml(config))


def find_config() -> Path | None:
    """Return the path of the nearest ``shrag.toml`` in the working folder or above it, else that in ``SHRAG_HOME``.

    Returns None if there is none. Outside the working folder, a file counts only if it belongs to this user or to root:
    a stranger's file must not set options such as the command that starts a language model.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the working folder was removed meanwhile
        return None
    folders = [here, *here.parents]
    if home := os.environ.get(VARIABLE):
        folders.append(Path(home).absolute())
    return next((folder / CONFIG_FILE for folder in folders if _has_config(folder, here)), None)


def _has_config(folder: Path, here: Path) -> bool:
    try:
        status = (folder / CONFIG_FILE).stat()
    except OSError:  # there is no such file, or this user may not look into the folder
        return False
    return stat.S_ISREG(status.st_mode) and (folder == here or status.st_uid in {0, os.geteuid()})


def read_toml(config: Path) -> dict[str, Any]:
    """Return the contents of a TOML file; raises ``ConfigurationRejected`` if the file is not TOML."""
    try:
        return tomllib.loads(config.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationRejected(Text("{config} is not TOML: {error}.", config=config, error=error)) from None


def home_of(config: Path, contents: Mapping[str, Any]) -> Path:
    """Return the absolute path of the data folder that ``contents``, the contents of the file ``config``, name."""
    home = contents.get(_HOME, _BESIDE_CONFIG)
    try:
        if isinstance(home, str) and home:
            return config.parent / Path(home).expanduser()
    except RuntimeError:  # there is no user of the name after ~
        pass
    raise ConfigurationRejected(
        Text("{key} in {config} is {value!r}: write the path of a folder.", key=_HOME, config=config, value=home)
    )


def platform_folder() -> Path:
    """Return the platform's folder for this user's data."""
    from platformdirs import user_data_path

    return user_data_path("shrag", appauthor=False).absolute()
