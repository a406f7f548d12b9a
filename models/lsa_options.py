"""What is chosen before an LSA encoder is fit; imports nothing heavy, so that an index can be checked without it."""

from __future__ import annotations

import msgspec


class LsaOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is chosen before the fit; ``docs/vectors.md`` has the figures behind the values.

    ``dimension`` is the length of a vector at most; ``documents`` how many are fit on; ``vocabulary`` how many terms
    are kept, those in most documents first; ``iterations`` the power iterations of the randomised decomposition.
    """

    dimension: int = 256
    documents: int = 20_000
    vocabulary: int = 50_000
    iterations: int = 5
    seed: int = 0

    @property
    def settings(self) -> str:
        """The options, readable."""
        return (
            f"lsa 1: {self.dimension} dimensions, {self.documents} documents, {self.vocabulary} terms, "
            f"{self.iterations} iterations, seed {self.seed}, terms in half precision"
        )
