"""GPU memory planning, which computes what fits under a budget."""
