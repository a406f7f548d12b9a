"""Pipelines of composable stages, and the eight presets."""
