"""Source files → items: lines of bytes, JSON objects, rows, elements, with their positions in the file."""
