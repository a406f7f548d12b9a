"""Analysis and encoding on the machines of a Ray cluster."""
