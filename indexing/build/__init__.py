"""Corpus → index: build, resume, update and publish a generation."""
