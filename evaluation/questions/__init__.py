"""Questions asked in bulk: outcomes, reference answers and figures per question."""
