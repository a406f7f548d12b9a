"""Questions in bulk, run files and tables out; everything is asked of the same engine that serves."""
