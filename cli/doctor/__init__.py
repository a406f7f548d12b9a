"""The checks of ``shrag doctor``."""
