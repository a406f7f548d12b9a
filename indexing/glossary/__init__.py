"""The bilingual lexicon: mining from a corpus, storage, query translation."""
