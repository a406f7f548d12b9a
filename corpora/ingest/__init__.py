"""Adding a corpus: read sources, detect duplicates, write and publish the records."""
