"""Run a vLLM server as a supervised subprocess."""
