"""Programs that have closed their standard streams."""

import os
import sys

import headrace
from headrace.process.output import tell
from headrace.process.standard_streams import keep_numbers
from support.own_process import in_own_process
from torch.utils.data import DataLoader


@in_own_process
def test_no_descriptor_of_ours_takes_the_number_of_one():
    headrace.install()
    for closed in ((0, 2), (0, 1)):
        for number in closed:
            os.close(number)
        assert len(list(DataLoader(range(8), 2, num_workers=2))) == 4
        assert [os.readlink(f"/proc/self/fd/{number}") for number in closed] == [os.devnull] * 2


@in_own_process
def test_reading_and_writing_fail_as_where_they_are_closed():
    def errors():
        for call, *arguments in (
            (os.read, 0, 1),
            (os.write, 1, b"x"),
            (os.write, 2, b"x"),
        ):
            try:
                call(*arguments)
            except OSError as error:
                yield error.errno

    for number in (0, 1, 2):
        os.close(number)
    expected = list(errors())
    keep_numbers()
    assert len(expected) == 3 and list(errors()) == expected
    assert not any(map(os.get_inheritable, (0, 1, 2)))


@in_own_process
def test_a_line_of_ours_that_nobody_reads_is_no_error_of_the_programs_later():
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - buffered, whatever PYTHONUNBUFFERED says
    os.close(2)
    tell("a line")
    sys.stderr.flush()
    assert os.pidfd_open(os.getpid()) == 2  # refuses text with another error
    tell("a line")
    sys.stderr.flush()
