"""Looking up one thing after another, each by what a language model makes of the ones before."""
