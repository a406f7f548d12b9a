"""Read source files, clean and validate their records, and store them as a corpus."""
