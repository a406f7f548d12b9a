"""The JSON API under /v1, health and metrics."""
