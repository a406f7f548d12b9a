"""The ``shrag`` commands, one module each."""
