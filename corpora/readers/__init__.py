"""Source files → items: lines of bytes, JSON objects, rows, elements, with their place in the file."""
