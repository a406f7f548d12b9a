"""SHRAG's query decomposer: a question into independent parts, into ordered steps, or into simpler words."""
