"""Transliterations by spelling: the model, and the table of an index's words."""
