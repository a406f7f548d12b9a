"""The JSON API under ``/v1``."""
