"""Judge answers and records with a language model."""
