"""Spellings of a word that share one term: British and American ones, and those of Korean loanwords."""
