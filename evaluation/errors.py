"""What can go wrong between topics and a table."""

from __future__ import annotations


class EvaluationError(Exception):
    """A run cannot be made or judged; the message says what to do about it."""


class ExperimentRejected(EvaluationError):
    """An experiment's file asks for what there is not."""


class ResultsMismatch(EvaluationError):
    """A folder of results was made otherwise than the experiment that is to go on in it, or is not whole."""


class PlotLibraryMissing(EvaluationError):
    """Plots are wanted and what draws them is not installed."""
