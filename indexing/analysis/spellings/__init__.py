"""Spellings of one word that have one term: British and American, and those of Korean loanwords."""
