"""Text of records: cleaning, sentence boundaries, chunking."""
