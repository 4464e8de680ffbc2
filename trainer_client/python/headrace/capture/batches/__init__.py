"""A loader's own collate_fn, which joins a list of samples.

    collated.py  form_of: follows it, and puts together what it returns
    follower.py  one following: loops over the samples, and what is known beside views/
    values.py    what there is once for each sample, and what is joined
    library.py   Python's and torch's functions of such values
    numbers.py   how many samples there are, the lengths of their tensors, what is computed with these
    tensors.py   sizes of samples' tensors, and torch's functions that make one of all samples
    filled.py    such a tensor, and the rows of it that samples are copied to
    memory.py    what a program sees of a sample's tensor: its strides, its class, its dimensions

The code is followed by views/, on the live objects. The samples are the one thing that is not known,
and how many they are. What is done once for each of them is followed once.
"""

from .collated import form_of
from .memory import rank_of_value, rows_of_value, rows_to_copy

__all__ = ["form_of", "rank_of_value", "rows_of_value", "rows_to_copy"]
