"""Bundles: a bundle is one file that carries an installation and its data to a machine without a network."""
