"""A loader's own collate_fn, which joins a list of samples.

    collated.py  form_of: follows it, and puts together what it returns
    follower.py  one following: loops over the samples, and what is known beside views/
    values.py    what there is once for each sample, and what is joined
    library.py   Python's and torch's functions of such values

The code is followed by views/, on the live objects. The samples are the one thing that is not known,
and how many they are. What is done once for each of them is followed once.
"""

from .collated import form_of
from .memory import rows_of_value

__all__ = ["form_of", "rows_of_value"]
