"""Text in, numbers or text out: the seams that encoders, re-rankers and language models plug into.

No weights ship with SHRAG and none are needed: the model-free re-ranker stands in
:mod:`shrag.indexing.lexical.reranker`, the extractive answer in :mod:`shrag.serving.answering.extractive`.
"""
