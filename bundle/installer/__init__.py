"""The installer that a bundle carries: of Python's standard library only, as one file that Python runs.

What it needs of the other packages (archives, locks, messages) needs no more either; :mod:`shrag.bundle.installer_file`
lists it.
"""
