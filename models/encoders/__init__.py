"""Encoders and cross-encoders: cards, weights, networks, tokenization."""
