"""Corpus formats: which files belong to one, and how its items become records."""
