"""The bilingual lexicon: mining from a corpus, and storage."""
