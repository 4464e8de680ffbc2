#!python
"""The command `headrace` of a portable wheel: becomes the program that the package holds."""

import importlib.util
import os
import sys


def program() -> str:
    folders = [os.path.dirname(os.path.dirname(os.path.realpath(__file__)))]  # pip install --target
    spec = importlib.util.find_spec("headrace")  # imports nothing
    if spec is not None and spec.origin:
        folders.insert(0, os.path.dirname(os.path.dirname(spec.origin)))
    for folder in folders:
        path = os.path.join(folder, "headrace", "bin", "headrace")
        if os.access(path, os.X_OK):
            return path
    sys.exit(f"{sys.argv[0]}: the Python package headrace is not installed for {sys.executable}")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
