"""Dense retrieval: stored vectors, exact and approximate search."""
