"""A data set of the program's own, whose __getitem__ opens pictures by paths and transforms them: one
picture, or several, such as an image and its mask.

    items.py     items_of: follows __len__ and __getitem__, and puts together what was found
    follower.py  one following: what it knows beside views/
    columns.py   Column: what the index makes of the lists that the data set holds, for every index
    pictures.py  files and pictures that are opened
    pixels.py    pictures of cv2's, as arrays and tensors; tensors.py: what transforms get of them
    library.py   functions of libraries whose work is known: paths, texts, PIL's open
    readers.py   those of torchvision.io, which make tensors of files

The code is followed by views/, on the live data set. The index is the one thing that is not known.
What is computed of it alone is computed for every index: the paths, and the labels.
"""

from .columns import Column
from .follower import Picture
from .items import Items, items_of, reader_of
from .pictures import TORCHVISION

__all__ = ["TORCHVISION", "Column", "Items", "Picture", "items_of", "reader_of"]
