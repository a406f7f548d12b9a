"""The stored corpus: its records in Parquet, its manifest, and how to open it."""
