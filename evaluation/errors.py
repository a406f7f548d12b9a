"""EvaluationError and its subclasses."""

from __future__ import annotations


class EvaluationError(Exception):
    """A run cannot be made or evaluated. The message says what to do about it."""


class ExperimentRejected(EvaluationError):
    """An experiment's file is invalid, or names data, an encoder or a condition that does not exist."""


class ResultsMismatch(EvaluationError):
    """A results folder belongs to another experiment than the one to be resumed, or is incomplete or damaged."""


class PlotLibraryMissing(EvaluationError):
    """matplotlib, which draws plots, is not installed."""
