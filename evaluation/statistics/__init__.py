"""Confidence intervals, significance tests, agreement."""
