"""Dense retrieval: stored vectors, exact and approximate nearest-neighbor search."""
