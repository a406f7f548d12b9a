"""Bundles: one file that carries an installation with its data to a machine without a network."""
