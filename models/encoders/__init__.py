"""Encoders and re-rankers: weights, tokenization, networks."""
