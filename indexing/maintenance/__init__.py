"""Verify, list, roll back, remove, export and import published indexes."""
