"""Peers: other systems that rank the same records for comparison."""
