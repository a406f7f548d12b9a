"""From a question to ranked records."""
