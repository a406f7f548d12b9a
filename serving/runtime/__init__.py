"""Open engines, admission control, deadlines, metrics."""
