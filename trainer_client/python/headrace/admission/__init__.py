"""Samples made both ways: what is compared before native code is used, and while it is."""
