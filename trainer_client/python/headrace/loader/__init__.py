"""Where loaders are taken over: the seam, and headrace.DataLoader."""
