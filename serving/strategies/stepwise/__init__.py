"""RAISE and its baselines."""
