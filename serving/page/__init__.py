"""The web page: its routes, its templates, and the live updates while a question is answered."""
