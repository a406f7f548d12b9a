"""Ways to answer composed of small named stages, written as one line: ``augment(2) > retrieve(10) > rrf(15)``."""
