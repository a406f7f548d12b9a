"""Choosing the sentences of a record that an answer quotes."""
