"""The installer that a bundle carries: one file that Python runs, and that needs only the standard library.

It uses some modules of other packages (archives, locks, messages), which need only the standard library too.
:mod:`shrag.bundle.installer_file` lists them.
"""
