"""Formats of corpora, topics and judgements: items to records."""
