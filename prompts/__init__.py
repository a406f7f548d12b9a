"""The words sent to a model: one text file per prompt and language, read by :mod:`shrag.prompts.prompt`.

The words of the extractive answer and of the page are not prompts and stand in :mod:`shrag.serving`.
"""
