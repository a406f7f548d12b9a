"""Retrieval and answering strategies, and their registry."""
