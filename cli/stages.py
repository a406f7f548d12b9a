"""Translatable messages for the names of stages and repairs.

Builds report these names, and manifests store them, in English.
"""

from __future__ import annotations

from shrag.messages.text import Text

_NAMES = (
    # What progress bars count.
    Text("checking analysis"),
    Text("checking golden queries"),
    Text("checking records"),
    Text("checking vectors"),
    Text("encoder"),
    Text("hashing files"),
    Text("lines read"),
    Text("records compared"),
    Text("records indexed"),
    Text("records loaded"),
    Text("records read back"),
    Text("records written"),
    Text("running CheckIndex"),
    Text("stored records copied"),
    Text("topics"),
    # What a build spends its time on.
    Text("FAISS"),
    Text("Lucene"),
    Text("analysis"),
    Text("calibration"),
    Text("checksums"),
    Text("comparing"),
    Text("glossary"),
    Text("merging"),
    Text("reading"),
    Text("token store"),
    Text("vectors"),
    # What is repaired in records.
    Text("fused words"),
    Text("hyphenated words"),
    Text("missing blanks"),
    Text("private characters"),
    Text("reference marks"),
    Text("section labels"),
    Text("stray blanks"),
    Text("title pages"),
)

STAGES = {str(name): name for name in _NAMES}
"""English name → the message."""


def stage_text(name: str) -> str:
    """Return the message of ``name``, or ``name`` itself if it has none, such as the name of an experiment's set."""
    return STAGES.get(name, name)
