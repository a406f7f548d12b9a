"""The ``shrag`` commands. Each parses its options, calls one function and prints the result."""
