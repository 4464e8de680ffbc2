"""Handles of files that a bundle names by path and mode: each host opens its own.

What they are like is told in the trainer (capture/handles). files.py says whether the file here is the
trainer's. Memory maps are made before hosts are forked, and are shared. opened.py has what each host
opens for itself.
"""
