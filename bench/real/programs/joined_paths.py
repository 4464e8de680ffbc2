"""A helper of noise_suppression.py: paths with a user's home in them."""

import os


def join_or_none(*parts):
    return os.path.abspath(os.path.expanduser(os.path.join(*parts)))
