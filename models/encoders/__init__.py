"""Encoders and re-rankers: weights, tokenization and networks."""
