"""The data folder's folders, and what in ``shrag.toml`` is refused."""

from __future__ import annotations

from datetime import date
from math import inf
from pathlib import Path

import click
import pytest
from click_default_group import DefaultGroup

from shrag.cli.settings import Home, check_options, configured_language, read_config


def test_each_kind_of_data_has_its_folder_in_the_home() -> None:
    home = Home(Path("/data"))
    assert (home.corpora, home.indexes) == (Path("/data/corpora"), Path("/data/indexes"))
    assert (home.weights, home.runs) == (Path("/data/weights"), Path("/data/runs"))


def test_a_run_is_a_folder_or_else_a_name_among_the_runs(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert home.find_run(Path("keywords")) == tmp_path / "home" / "runs" / "keywords"
    assert home.find_run(tmp_path) == tmp_path


def _config(folder: Path, text: str) -> Path:
    path = folder / "shrag.toml"
    path.write_text(text)
    return path


def test_the_language_is_the_files_and_automatic_where_there_is_none_or_it_cannot_be_read(tmp_path: Path) -> None:
    assert configured_language(_config(tmp_path, 'lang = "ko"\n')) == "ko"
    assert configured_language(_config(tmp_path, 'home = "data"\n')) == "auto"
    assert configured_language(_config(tmp_path, "lang = \n")) == "auto"
    assert configured_language(tmp_path / "none.toml") == "auto"
    assert configured_language(None) == "auto"


def test_the_home_is_absolute_and_given_also_where_the_file_has_none_and_the_language_is_left_out(
    tmp_path: Path,
) -> None:
    assert read_config(None, {}) == {}
    assert read_config(_config(tmp_path, 'home = "data"\nlang = "en"\n[search]\nk = 5\n'), {"search": 1}) == {
        "home": str(tmp_path / "data"),
        "search": {"k": 5},
    }
    assert Path(read_config(_config(tmp_path, ""), {})["home"]).parent == tmp_path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("k = \n", r"shrag\.toml is not TOML"),
        ('home = ""\n', "write the path of a folder"),
        ("[serch]\nk = 5\n", r"unknown key 'serch': use engine, .*home, lang, llm, search\. Did you mean search\?"),
        ('home = "~nobody-has-this-name/x"\n', "write the path of a folder"),
        ("engine_key_file = 3\n", r"engine_key_file in .*shrag\.toml is 3: write a path in quotes"),
        (
            "engine_timeout = 2024-01-01\n",
            r"engine_timeout in .* is 2024-01-01: write text in quotes, a number",
        ),
        ('lang = "fr"\n', r"lang in .*shrag\.toml must be one of auto, ko, en"),
    ],
)
def test_what_is_wrong_with_the_file_is_an_error_of_usage(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(click.UsageError, match=problem):
        read_config(_config(tmp_path, text), {"search": 1})


def test_a_table_of_a_command_may_have_its_options_those_of_its_default_and_the_names_of_its_commands() -> None:
    add = click.Command("add", params=[click.Option(["--force"]), click.Argument(["name"])])
    plain = click.Group("corpus", {"add": add}, params=[click.Option(["--quiet"])])
    default = DefaultGroup("corpus", {"add": add}, default="add")
    check_options({"force": 1, "name": 2}, add, "add")
    check_options({"quiet": 1, "add": {}}, plain, "corpus")
    check_options({"force": 1, "add": {}}, default, "corpus")
    with pytest.raises(click.UsageError, match=r"\[corpus\] in shrag.toml has no option 'force': use add, quiet\."):
        check_options({"force": 1}, plain, "corpus")
    with pytest.raises(click.UsageError, match=r"has no option 'forse': use force, name\. Did you mean force\?"):
        check_options({"forse": 1}, add, "add")


OPTIONS = [
    click.Option(["--output"], type=click.Path(path_type=Path)),
    click.Option(["--level"], type=click.FloatRange(0, 1)),
    click.Option(["--run", "runs"], type=click.Path(path_type=Path), multiple=True),
    click.Option(["--journal"], multiple=True),
    click.Option(["--year"]),
    click.Option(["-k", "k"], type=click.IntRange(1, 100)),
    click.Option(["--page", "pages"], type=int, multiple=True),
    click.Option(["--dry"], is_flag=True),
]


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (3, r"make in shrag\.toml must be a table: write \[make\]"),
        ({"add": 3}, r"make\.add in shrag\.toml must be a table: write \[make\.add\]"),
        ({"add": {"output": 3}}, r"make\.add\.output in shrag\.toml is 3: write a path in quotes\."),
        ({"add": {"outptu": "x"}}, r"\[make\.add\] in shrag\.toml has no option 'outptu'"),
        ({"output": ["a"]}, r"make\.output in shrag\.toml is \['a'\]: write a path in quotes\."),
        ({"runs": "a"}, r"make\.runs in shrag\.toml is a: write a list in brackets\."),
        ({"add": {"journal": 3}}, r"make\.add\.journal in shrag\.toml is 3: write a list in brackets\."),
        ({"runs": ["a", 3]}, r"make\.runs in shrag\.toml is 3: write a path in quotes\."),
        (
            {"level": date(2024, 1, 1)},
            r"make\.level in shrag\.toml is 2024-01-01: write text in quotes, a number",
        ),
        ({"k": 2.5}, r"make\.k in shrag\.toml is 2\.5: write a whole number\."),
        ({"k": inf}, r"make\.k in shrag\.toml is inf: write a whole number\."),
        ({"k": True}, r"make\.k in shrag\.toml is true: write a whole number\."),
        ({"pages": [1, 2.5]}, r"make\.pages in shrag\.toml is 2\.5: write a whole number\."),
        ({"level": True}, r"make\.level in shrag\.toml is true: write a number\."),
        ({"journal": ["a", {"b": 3}]}, r"make\.journal in shrag\.toml is \{'b': 3\}: write text in quotes, a number"),
    ],
)
def test_a_value_of_another_type_than_the_option_has_is_an_error_of_usage(section: object, problem: str) -> None:
    command = click.Group("make", {"add": click.Command("add", params=[*OPTIONS])}, params=[*OPTIONS])
    with pytest.raises(click.UsageError, match=problem):
        check_options(section, command, "make")


def test_text_and_numbers_are_values_of_every_option_but_a_path() -> None:
    section = {"output": "a", "level": 0.5, "runs": ["a", "b"], "journal": ["a", 3], "year": 2020}
    section |= {"k": 5.0, "pages": [1, "2"], "dry": True}
    check_options(section, click.Command("make", params=[*OPTIONS]), "make")
    check_options({"level": "0.5", "journal": ["a"], "runs": []}, click.Command("make", params=[*OPTIONS]), "make")


def test_the_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert read_config(_config(tmp_path, "\ufeff[search]\nk = 5\n"), {"search": 1})["search"] == {"k": 5}
