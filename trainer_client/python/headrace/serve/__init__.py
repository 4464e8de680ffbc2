"""The iterators of served loaders."""
