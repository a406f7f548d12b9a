"""From ranked records to a cited answer."""
