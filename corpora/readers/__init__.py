"""Readers of file syntax: bytes, lines, JSON, CSV and XML, item by item."""
