"""Questions asked in bulk: their outcomes, reference answers and figures."""
