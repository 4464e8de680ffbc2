"""A data set that another loader has read: its second reading is no first one."""

import gc

from headrace.serve.read_before import ReadBefore


class Own:
    """A data set of the program's, equal to all others."""

    def __eq__(self, other):
        return True

    __hash__ = None


def test_a_data_set_is_known_again_while_it_lives():
    read, one, two = ReadBefore(), Own(), Own()
    assert not read.note(one) and not read.note(two), "it is the object that counts"
    assert read.note(one) and read.note(two)
    gc.freeze()  # a collection looks at what this test makes, and not at all that the process has
    try:
        for _ in range(100):
            del one
            gc.collect()
            one = Own()  # often at the place of the one before
            assert not read.note(one)
    finally:
        gc.unfreeze()
    assert read.note(two) and len(read._known) <= 3


def test_a_list_is_never_known_again():
    read, rows = ReadBefore(), [1, 2]
    assert not read.note(rows) and not read.note(rows)
