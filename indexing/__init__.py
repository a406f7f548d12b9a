"""Build an index of a corpus, verify it, and open it for search."""
