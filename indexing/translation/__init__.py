"""Questions in the terms of an index, and their translations from the bilingual lexicon."""
