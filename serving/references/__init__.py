"""References of records: BibTeX, RIS, CSL-JSON, tables and plain text."""
