"""The ``shrag`` commands: each parses, calls one function, prints."""
