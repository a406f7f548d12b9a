"""Search on a vector database: an index's words and vectors loaded into Milvus or Qdrant."""
