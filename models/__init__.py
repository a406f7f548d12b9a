"""Protocols and implementations of encoders, re-rankers and language models, and GPU memory planning.

No weights ship with SHRAG and none are needed: the model-free re-ranker is in
:mod:`shrag.indexing.lexical.reranker`, the extractive answer in :mod:`shrag.serving.answering.extractive`.
"""
