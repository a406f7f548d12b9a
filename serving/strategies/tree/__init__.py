"""Tree-of-Question."""
