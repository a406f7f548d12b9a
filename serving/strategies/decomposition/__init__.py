"""Query decomposition: decompose, chain, rewrite."""
