"""Errors of making a bundle."""

from __future__ import annotations


class BundleError(Exception):
    """A bundle cannot be made; the message says what to do."""


class BundleDependencyMissing(BundleError):
    """A package that is needed to make a bundle is not installed."""
