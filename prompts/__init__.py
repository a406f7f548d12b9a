"""Prompt templates: one text file per prompt and language, loaded by :mod:`shrag.prompts.prompt`."""
