"""GPU memory planning: what fits under a budget."""
