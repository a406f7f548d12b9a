"""Protocols and implementations of encoders, re-rankers and language models, and GPU memory planning.

SHRAG ships no weights and needs none: the model-free re-ranker is in :mod:`shrag.indexing.lexical.reranker`, and the
extractive answer is in :mod:`shrag.serving.answering.extractive`.
"""
