"""Analysis on the machines of a cluster."""
