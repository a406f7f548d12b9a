"""References of records as BibTeX, RIS, CSL-JSON, tables and plain text."""
