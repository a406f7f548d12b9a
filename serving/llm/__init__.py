"""One question's use of a language model."""
