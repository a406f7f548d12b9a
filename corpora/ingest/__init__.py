"""Adding a corpus: reading, duplicates, publishing."""
