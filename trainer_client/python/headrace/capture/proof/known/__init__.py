"""What is known of libraries, by exact object.

    tables.py    all tables: Known
    entry.py     how an entry says what a function does
    python.py    builtins and the standard library
    readers.py   sound, databases, archives, regex
    arrays.py    numpy
    tensors.py   torch
    pictures.py  PIL and OpenCV
    vision.py    torchvision, albumentations, tokenizers: objects that are called
    classes.py   classes: which methods and attributes read, change, or reach out

To add a function, put its name into the table of its library. The name is looked up in the modules
that the program has loaded, and the very object found there is what is known: a function that the
program puts in its place is not. A function is in a table if all of this holds: what it returns
follows from its arguments, from files and from the generators of random, numpy and torch; it changes
nothing but what its entry says; and it keeps nothing.
"""
