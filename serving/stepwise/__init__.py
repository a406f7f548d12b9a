"""RAISE and its baselines: a question worked out step by step, with records or without, and then answered."""
