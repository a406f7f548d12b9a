"""Errors of making a bundle."""

from __future__ import annotations


class BundleError(Exception):
    """A bundle cannot be made; the message says what to do."""


class BundleDependencyMissing(BundleError):
    """A package that making a bundle needs is not installed."""
