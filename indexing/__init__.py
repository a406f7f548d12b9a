"""Records in, one sealed index folder out, and from such a folder a searcher back."""
