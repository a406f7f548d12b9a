from __future__ import annotations

from pathlib import Path

import pytest

from shrag.prompts.prompt import FOLDER, VARIABLES, Language, PromptError, load_prompt, prompts_fingerprint


def _write(folder: Path, text: str) -> Path:
    (folder / "keywords.en.txt").write_text(text, encoding="utf-8")
    return folder


GOOD = "Give $least to $most.\n=== user ===\n$question"


@pytest.mark.parametrize("name", sorted(VARIABLES))
@pytest.mark.parametrize("language", ["ko", "en"])
def test_every_prompt_can_be_read_in_both_languages(name: str, language: Language) -> None:
    system, user = load_prompt(name, language).render(dict.fromkeys(VARIABLES[name], "VALUE"))
    assert (system.role, user.role) == ("system", "user")
    assert "$" not in system.content + user.content
    assert "VALUE" in user.content


def test_values_are_inserted_verbatim() -> None:
    _, user = load_prompt("keywords", "en").render(
        {"least": "2", "most": "5", "question": "$most {most} === user === $$"}
    )
    assert user.content == "Question: $most {most} === user === $$"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("$most", "five"), r"lacks the variables \$most: its variables are \$least, \$most, \$question"),
        (GOOD + " $secret", r"has the unknown variables \$secret"),
        (GOOD + " 5$ each", r"dollar sign without a variable: write \$\$"),
        ("$least $most $question", "no line '=== user ==='"),
    ],
)
def test_wrong_variables_are_rejected_when_a_prompt_is_loaded(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PromptError, match=says):
        load_prompt("keywords", "en", _write(tmp_path, text))


def test_a_missing_prompt_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"keywords\.en\.txt cannot be read"):
        load_prompt("keywords", "en", tmp_path)


def test_the_fingerprint_follows_every_word(tmp_path: Path) -> None:
    before = load_prompt("keywords", "en", _write(tmp_path, GOOD)).fingerprint
    load_prompt.cache_clear()
    assert load_prompt("keywords", "en", _write(tmp_path, GOOD + " ")).fingerprint != before
    for path in FOLDER.glob("*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    # What marks an answer does not change it.
    (tmp_path / "judge.ko.txt").unlink()
    load_prompt.cache_clear()
    assert prompts_fingerprint(tmp_path) == prompts_fingerprint()
    (tmp_path / "answer.ko.txt").write_text((FOLDER / "answer.ko.txt").read_text("utf-8") + "!", "utf-8")
    load_prompt.cache_clear()
    assert prompts_fingerprint(tmp_path) != prompts_fingerprint()
