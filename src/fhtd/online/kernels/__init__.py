"""The compiled arithmetic: one file per family of algorithms."""
