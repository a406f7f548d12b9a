"""Verifying, listing and rolling back published indexes."""
