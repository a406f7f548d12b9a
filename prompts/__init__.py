"""The words sent to a model, one text file per prompt and language.

Without a model nothing is sent, so there is no prompt yet; the words of the extractive answer and of the page are not
prompts and stand in :mod:`shrag.serving`.
"""
