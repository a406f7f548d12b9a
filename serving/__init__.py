"""A question in, a cited answer out: strategies and their events, the extractive answer, HTTP and the page."""
