"""Errors of the evaluation: EvaluationError and its subclasses."""

from __future__ import annotations


class EvaluationError(Exception):
    """A run cannot be made or evaluated. The message says what to do about it."""


class ExperimentRejected(EvaluationError):
    """An experiment's file is invalid, or names data, an encoder or a condition that does not exist."""


class ResultsMismatch(EvaluationError):
    """A results folder belongs to another experiment, is incomplete, or is damaged."""


class PlotLibraryMissing(EvaluationError):
    """matplotlib, which draws plots, is not installed."""
