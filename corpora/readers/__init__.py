"""Read source files as items: lines of bytes, JSON objects, rows or elements, with their positions in the file."""
