from __future__ import annotations

import gc
import hashlib
import hmac
import os
import stat
from pathlib import Path

import pytest

from shrag.serving.errors import KeyRejected
from shrag.serving.http.api_key import ApiKey, new_key, read_key_file, write_key_file

KEY = "q7Wm0cXv3ZpLr9TnBs5KyHd2FgJu8Ae4"


def test_a_new_key_has_256_bits_in_43_characters_and_is_never_the_same() -> None:
    keys = {new_key() for _ in range(100)}
    assert {len(key) for key in keys} == {43}
    assert len(keys) == 100
    assert all(ApiKey(key).matches(key) for key in keys)


@pytest.mark.parametrize("given", ["", KEY[:-1], KEY + "x", KEY.lower(), " " + KEY, KEY + "\n", "\udcff", "가" * 40])
def test_only_the_key_itself_matches(given: str) -> None:
    assert ApiKey(KEY).matches(KEY)
    assert not ApiKey(KEY).matches(given)


def test_a_key_is_compared_in_a_time_that_does_not_tell_how_much_of_it_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compare, compared = hmac.compare_digest, list[tuple[bytes, bytes]]()

    def watch(given: bytes, own: bytes) -> bool:
        compared.append((given, own))
        return compare(given, own)

    monkeypatch.setattr(hmac, "compare_digest", watch)
    key = ApiKey(KEY)
    assert (key.matches(KEY), key.matches(KEY[:-1])) == (True, False)
    own = hashlib.sha256(KEY.encode()).digest()
    assert compared == [(own, own), (hashlib.sha256(KEY[:-1].encode()).digest(), own)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (KEY[:31], "has 31 characters and must have 32 to 512"),
        (KEY * 17, "has 544 characters"),
        ("a" * 32, "has 1 different characters and must have at least 10"),
        ("abcdefghi" * 4, "has 9 different characters"),
        (KEY + " x", "a space or a character that is not ASCII"),
        (KEY + "가", "a space or a character that is not ASCII"),
        (KEY + "\x7f", "a space or a character that is not ASCII"),
    ],
)
def test_a_key_that_could_be_guessed_or_not_sent_is_refused_without_showing_it(text: str, words: str) -> None:
    with pytest.raises(KeyRejected, match=words) as refused:
        ApiKey(text)
    assert "`shrag key`" in str(refused.value)
    assert not text or text[:20] not in str(refused.value)


@pytest.mark.parametrize("text", [KEY, (KEY * 16)[:512], "abcdefghij" * 4, "!~" + KEY])
def test_a_key_just_within_the_limits_is_accepted(text: str) -> None:
    assert ApiKey(text).matches(text)
    with pytest.raises(KeyRejected, match="has 513 characters"):
        ApiKey((KEY * 17)[:513])


def test_nothing_that_prints_or_dumps_a_key_has_it() -> None:
    text = "".join(reversed(KEY))
    key = ApiKey(text)
    assert text not in repr(key) + str(key) + format(key)
    assert not hasattr(key, "__dict__")
    assert text not in [thing for thing in gc.get_referents(key) if isinstance(thing, str)]


def test_a_key_file_is_written_for_its_owner_only_and_never_over_another(tmp_path: Path) -> None:
    file = tmp_path / "key"
    write_key_file(file, KEY)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_key_file(file).matches(KEY)
    with pytest.raises(KeyRejected, match=r"File exists.*name a file that is not there yet"):
        write_key_file(file, new_key())
    assert read_key_file(file).matches(KEY)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o620, 0o602, 0o777])
def test_a_key_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    write_key_file(file, KEY)
    file.chmod(mode)
    with pytest.raises(KeyRejected, match=f"mode {mode:03o}.*`chmod 600"):
        read_key_file(file)


def test_what_systemd_gives_may_be_open_to_its_group_which_is_the_mask_of_an_access_list(tmp_path: Path) -> None:
    file = tmp_path / "api-key"
    write_key_file(file, KEY)
    file.chmod(0o440)
    assert read_key_file(file, tmp_path).matches(KEY)
    with pytest.raises(KeyRejected, match="mode 440"):
        read_key_file(file, tmp_path.parent)
    file.chmod(0o444)
    with pytest.raises(KeyRejected, match="mode 444"):
        read_key_file(file, tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of root")
def test_a_key_file_of_root_is_read_by_any_user_who_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    write_key_file(file, KEY)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert read_key_file(file).matches(KEY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    write_key_file(file, KEY)
    os.chown(file, 65534, 65534)
    with pytest.raises(KeyRejected, match="belongs to another user"):
        read_key_file(file)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (KEY.encode() + b"\n" + KEY.encode(), "more than one line"),
        (b"\xff" * 40, "not ASCII"),
        (b"x" * 10_000, "has 515 characters"),
    ],
)
def test_a_file_that_has_no_key_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(KeyRejected, match=words):
        read_key_file(file)


def test_a_missing_key_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyRejected, match=r"cannot be read \(No such file or directory\)"):
        read_key_file(tmp_path / "nothing")
    with pytest.raises(KeyRejected, match=r"cannot be read \(Is a directory\)"):
        read_key_file(tmp_path)
    with pytest.raises(KeyRejected, match="is not a file"):
        read_key_file(Path("/dev/null"))


def test_a_line_break_of_any_kind_ends_the_key(tmp_path: Path) -> None:
    for number, end in enumerate((b"", b"\n", b"\r\n")):
        file = tmp_path / str(number)
        file.write_bytes(KEY.encode() + end)
        file.chmod(0o400)
        assert read_key_file(file).matches(KEY)
