"""Experiments: their specification, parts, provenance and run cards."""
