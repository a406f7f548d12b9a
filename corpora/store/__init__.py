"""The stored corpus: one Parquet file and its manifest."""
