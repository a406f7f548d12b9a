"""The text of records: cleaning, repairs, sentence boundaries and chunking."""
