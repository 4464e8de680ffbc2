"""The release that this package is of."""

__version__ = "0.1.0"
