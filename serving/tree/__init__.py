"""Tree-of-Question: a question that one search does not answer grows a tree of smaller ones."""
