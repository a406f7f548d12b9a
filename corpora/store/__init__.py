"""The stored corpus: records in Parquet, the manifest, opening."""
