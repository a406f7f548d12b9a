"""Dense retrieval: stored vectors, exact and approximate nearest-neighbour search."""
