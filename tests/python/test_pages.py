"""Pages of a slot are entered before they are written, those of the slot alone, and once (stage/pages.py)."""

import mmap
import os
import random

import pytest
from headrace.stage.pages import Pages
from support.own_process import in_own_process

CHUNK = 64 << 10
SIZE = 64 * CHUNK
SEED = 20261130


class Mapped:
    """Notes what is asked of the kernel."""

    def __init__(self, fails=False):
        self.asked, self.fails = [], fails

    def __len__(self):
        return SIZE

    def madvise(self, option, start, length):
        self.asked.append((option, start, length))
        if self.fails:
            raise OSError(22, "an older kernel")


def test_no_byte_beyond_a_slot_is_entered_and_none_twice():
    rng = random.Random(SEED)
    mapped = Mapped()
    pages, whole = Pages(mapped), set()
    for _ in range(300):
        offset = rng.randrange(SIZE)
        size = rng.randrange(SIZE - offset)
        mapped.asked.clear()
        pages.expect(offset, size)
        chunks = {c for c in range(SIZE // CHUNK) if offset <= c * CHUNK and (c + 1) * CHUNK <= offset + size}  # fmt: skip
        entered = {
            chunk
            for _, start, length in mapped.asked
            for chunk in range(start // CHUNK, (start + length) // CHUNK)
        }
        assert entered <= chunks and chunks <= entered | whole, (SEED, offset, size)
        assert bool(entered) == bool(chunks - whole)
        whole |= chunks


@in_own_process
def test_a_large_arena_takes_no_memory_that_nobody_has_written():
    """Each lane has looked at it in its first milliseconds, page by page: 128 faults."""
    fd = os.memfd_create("arena")
    os.ftruncate(fd, 32 << 30)
    with mmap.mmap(fd, 0) as mapped:
        Pages(mapped)
        before = faults()
        pages = Pages(mapped)
        assert faults() - before < 64
        pages.expect(CHUNK, 3 * CHUNK)
        assert len(pages._entered) == 4
    os.close(fd)


def test_an_older_kernel_is_asked_once():
    mapped = Mapped(fails=True)
    pages = Pages(mapped)
    pages.expect(0, SIZE // 2)
    pages.expect(SIZE // 2, SIZE // 2)
    assert len(mapped.asked) == 1


def faults():
    with open("/proc/self/stat") as file:
        return int(file.read().rpartition(")")[2].split()[7])


def test_writing_meets_few_faults():
    """The kernel says so itself."""
    fd = os.memfd_create("slot")
    os.ftruncate(fd, SIZE)
    os.posix_fallocate(fd, 0, SIZE)
    content = bytes(SIZE)
    met = []
    for expects in (False, True):
        with mmap.mmap(fd, SIZE) as mapped:
            if expects:
                Pages(mapped).expect(0, SIZE)
            before = faults()
            mapped[:] = content
            met.append(faults() - before)
    os.close(fd)
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 14):
        pytest.skip("this kernel can't enter pages ahead")
    assert met[1] < max(met[0] / 8, 64), met  # with huge pages for shared memory both are few
