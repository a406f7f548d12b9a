"""Experiments: specification, parts, provenance, run cards."""
