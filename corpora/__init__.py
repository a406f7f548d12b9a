"""Raw files in, clean records out: formats, cleaning, the stored corpus with its accounts."""
