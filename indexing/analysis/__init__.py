"""Analysis of Korean and English text into terms."""
