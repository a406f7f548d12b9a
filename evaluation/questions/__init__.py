"""Questions asked in bulk: outcomes and figures."""
