"""Evaluation: run topics through the serving engine, compute measures, compare runs, write reports."""
