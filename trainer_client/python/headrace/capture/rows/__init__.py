"""A data set of the program's own whose samples are rows or windows of arrays in files: the token files
of language-model trainers, np.memmap and np.load(mmap_mode="r").

    x = torch.from_numpy(self.data[i * n : (i + 1) * n].astype(np.int64))

is n elements of a file, from a byte on that is a linear function of i. So a worker reads them by itself.

    windows.py    windows_of: follows __len__ and __getitem__, and says where each field lies
    follower.py   one following: what it knows beside views/
    affine.py     Affine: what the index makes of numbers, for every index
    window.py     Window: a part of an array by the index, and what is done to it
    places.py     which file's bytes memory is

The code is followed by views/, on the live data set, as capture/items does it with pictures.
"""

from .places import FileMemory, memory_of_file
from .windows import Windows, windows_of

__all__ = ["FileMemory", "Windows", "memory_of_file", "windows_of"]
