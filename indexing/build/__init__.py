"""Building an index from a corpus, resumably."""
