"""A vLLM server of our own, as a supervised subprocess."""
