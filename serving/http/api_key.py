"""The API key of a server: make a new one, write and read its file, and compare what clients send."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from shrag.messages.text import Text
from shrag.serving.errors import KeyRejected

SHORTEST = 32
"""The fewest characters of a key. A key made by :func:`new_key` has 43 characters, which hold 256 random bits."""

LONGEST = 512
_FEWEST_DIFFERENT = 10

_ADVICE = Text("make one with `shrag key`")


class ApiKey:
    """An API key. Only its SHA-256 is stored, so that no log or dump of this object contains the key."""

    __slots__ = ("_digest",)

    def __init__(self, text: str) -> None:
        """Take the key ``text``; raise :class:`KeyRejected` unless it is 32 to 512 visible ASCII characters."""
        if not text:
            raise KeyRejected(Text("The API key is empty: {advice}.", advice=_ADVICE))
        if not all("!" <= character <= "~" for character in text):
            raise KeyRejected(
                Text("The API key has a space or a character that is not ASCII: {advice}.", advice=_ADVICE)
            )
        if not SHORTEST <= len(text) <= LONGEST:
            raise KeyRejected(
                Text(
                    "The API key has {text_count} characters and must have {shortest} to {longest}: {advice}.",
                    text_count=len(text),
                    shortest=SHORTEST,
                    longest=LONGEST,
                    advice=_ADVICE,
                )
            )
        if len(set(text)) < _FEWEST_DIFFERENT:
            raise KeyRejected(
                Text(
                    "The API key has {set_count} different characters and must have at least "
                    "{fewest_different}: {advice}.",
                    set_count=len(set(text)),
                    fewest_different=_FEWEST_DIFFERENT,
                    advice=_ADVICE,
                )
            )
        self._digest = hashlib.sha256(text.encode()).digest()

    def matches(self, given: str) -> bool:
        """Return whether ``given`` is the key; the comparison takes constant time."""
        return hmac.compare_digest(hashlib.sha256(given.encode("utf-8", "surrogateescape")).digest(), self._digest)

    @property
    def session_secret(self) -> bytes:
        """The secret that signs sessions. It is the same in every process with this key, so all accept a sign-in."""
        return hmac.digest(self._digest, b"shrag session", "sha256")


def new_key() -> str:
    """Return a new key: 32 random bytes as 43 URL-safe characters."""
    return secrets.token_urlsafe(32)


def write_key_file(path: Path, key: str) -> None:
    """Write ``key`` to a new file that only its owner may read, and make its folder if there is none.

    Raises :class:`KeyRejected` if the file exists or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise KeyRejected(
            Text(
                "{path} cannot be written ({strerror}): name a file that is not there yet.",
                path=path,
                strerror=error.strerror,
            )
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(key + "\n")


def read_key_file(path: Path, credentials: Path | None = None) -> ApiKey:
    """Read a key from a file of one line.

    Args:
        path: The file. Only its owner may have access to it.
        credentials: The systemd credentials directory. Files in it may be accessible to their group: there, the group
            bits are the mask of an access list that names the service's user.

    Raises:
        KeyRejected: The file cannot be read, is open to other users, or has no valid key.
    """
    try:
        with path.open("rb") as stream:
            state = os.fstat(stream.fileno())
            text = stream.read(LONGEST + 3)
    except OSError as error:
        raise KeyRejected(
            Text(
                "The key file {path} cannot be read ({strerror}): check its path and permissions.",
                path=path,
                strerror=error.strerror,
            )
        ) from None
    if not stat.S_ISREG(state.st_mode):
        raise KeyRejected(Text("The key file {path} is not a file: give the path of a file.", path=path))
    given_by_systemd = credentials is not None and path.resolve().parent == credentials.resolve()
    open_to_others = stat.S_IRWXO if given_by_systemd else stat.S_IRWXO | stat.S_IRWXG
    if state.st_mode & open_to_others:
        raise KeyRejected(
            Text(
                "The key file {path} may be read by others than its owner (mode {mode:03o}): `chmod 600 {path}`.",
                path=path,
                mode=state.st_mode & 511,
            )
        )
    if state.st_uid not in {0, os.geteuid()}:
        raise KeyRejected(
            Text("The key file {path} belongs to another user: `chown` it to the one that serves.", path=path)
        )
    lines = text.decode("utf-8", "replace").splitlines() or [""]
    if len(lines) > 1:
        raise KeyRejected(Text("The key file {path} has more than one line: keep only the key in it.", path=path))
    return ApiKey(lines[0])
