"""Other systems' rankings over the same records."""
