"""Leaves that the worker has in files: a lane reads them by itself, believes no record that is damaged or another's,
and never waits longer than it would take to make one."""

import errno
import os
import random
import resource

import numpy as np
import pytest
from headrace.stage import leaf_cost, leaf_files, leaves
from headrace.stage.leaf_door import _room
from headrace.stage.leaf_files import HEADER, OF_FILE, Files, Place
from headrace.stage.leaf_keys import key_of_words
from headrace.stage.witness import _calls
from support.leaf_worker import LeafWorker, record

SEED = 20261130
TAG, WORDS = 77, (OF_FILE | 5, 6, 7, 8, 9, 10, 11)


@pytest.fixture(autouse=True)
def _no_lane():
    yield
    leaves.here = None


def row(size, tag=TAG, words=WORDS):
    return (tag, *words, 0, size, 5_000_000)


class Disk:
    """One file, of which the kernel has in memory what the test says."""

    def __init__(self, path, content):
        path.write_bytes(content)
        self.path, self.opened, self.now, self.slept = path, 0, 0.0, 0.0
        self.in_memory = len(content)  # bytes of the file
        self.reads_a_second = 0.0  # bytes that come to it
        self.asked = []

    def open(self, number):
        self.opened += 1
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def sleep(self, seconds):
        self.now += seconds
        self.slept += seconds

    def files(self, monkeypatch, seconds=1e-4, byte=1e-9):
        def preadv(fd, buffers, offset, flags):
            assert flags == os.RWF_NOWAIT, "it must not wait in the kernel"
            have = self.in_memory + (int(self.now * self.reads_a_second) if self.asked else 0)
            (buffer,) = buffers
            size = min(len(buffer), have - offset)
            if size <= 0:
                raise BlockingIOError
            return real(fd, [buffer[:size]], offset)

        real = os.preadv
        monkeypatch.setattr(leaf_files.os, "preadv", preadv)
        monkeypatch.setattr(leaf_files.os, "posix_fadvise", lambda *what: self.asked.append(what))
        files = Files(self.open, clock=lambda: self.now, sleep=self.sleep)
        files.pace.start(seconds, byte)
        return files


@pytest.fixture
def payload():
    return random.Random(SEED).randbytes(100_000)


@pytest.fixture
def disk(tmp_path, payload):
    return Disk(tmp_path / "1", bytes(128) + record(row(len(payload)), payload))


def place(payload, seconds=0.005, offset=128):
    return Place(OF_FILE | 1, offset, len(payload), seconds)


def test_what_the_kernel_has_is_read_at_once(disk, payload, monkeypatch):
    files = disk.files(monkeypatch)
    for _ in range(3):
        found = files.read(TAG, WORDS, place(payload))
        assert bytes(found) == payload and found.readonly
    assert disk.opened == 1 and disk.slept == 0 and not disk.asked
    assert files.take_counts() == (3 * (len(payload) + HEADER.size), 0, 0)


def test_the_rest_is_asked_for_and_awaited(disk, payload, monkeypatch):
    disk.in_memory, disk.reads_a_second = 40_000, 100e6
    files = disk.files(monkeypatch)
    assert bytes(files.read(TAG, WORDS, place(payload))) == payload
    assert len(disk.asked) == 1 and 0.0005 < disk.slept < 0.0008
    _, awaited, waited_ns = files.take_counts()
    assert awaited == len(payload) + HEADER.size + 128 - 40_000
    assert waited_ns == pytest.approx(disk.slept * 1e9, rel=0.01)


def test_who_waits_waits_no_longer_than_it_takes_to_make(disk, payload, monkeypatch):
    disk.in_memory = 0  # and nothing ever comes
    files = disk.files(monkeypatch)
    rng = random.Random(SEED)
    for _ in range(50):
        before, took = disk.now, rng.uniform(0, 0.02)
        assert files.read(TAG, WORDS, place(payload, took)) is None
        assert disk.now - before <= took + 1e-9
    before = disk.now
    files.read(TAG, WORDS, place(payload, 3600))
    assert disk.now - before <= 1.0, "whatever it cost once"


def test_a_disk_that_is_slow_is_asked_now_and_then(disk, payload, monkeypatch):
    disk.in_memory = 0
    files = disk.files(monkeypatch, byte=1e-6)
    for _ in range(64):
        assert files.read(TAG, WORDS, place(payload, 0.005)) is None
    assert len(disk.asked) == 4


def test_a_lane_learns_that_a_disk_is_slow_and_that_it_is_quick_again(disk, payload, monkeypatch):
    disk.in_memory = 0
    files = disk.files(monkeypatch)
    for _ in range(40):
        files.read(TAG, WORDS, place(payload, 0.002))
    late = len(disk.asked)
    assert late < 40, "it has stopped to ask each time"
    for _ in range(600):
        disk.asked.clear()
        disk.now, disk.reads_a_second = 0.0, 1e9
        files.read(TAG, WORDS, place(payload, 0.002))
    assert disk.asked


@pytest.mark.parametrize(
    "other",
    [
        (TAG + 1, WORDS),
        *((TAG, (*WORDS[:i], WORDS[i] ^ 1, *WORDS[i + 1 :])) for i in range(7)),
        (TAG, (WORDS[0] ^ OF_FILE, *WORDS[1:])),
    ],
)
def test_the_record_of_another_leaf_is_not_believed(disk, payload, other, monkeypatch):
    assert disk.files(monkeypatch).read(*other, place(payload)) is None


@pytest.mark.parametrize("size", [0, 1, 99_999, 100_001, 1 << 20, -1])
def test_another_length_is_not_believed(disk, payload, size, monkeypatch):
    files = disk.files(monkeypatch)
    assert files.read(TAG, WORDS, place(payload)._replace(size=size)) is None


@pytest.mark.parametrize("offset", [0, 64, 129, 1 << 40, -128])
def test_another_place_is_not_believed(disk, payload, offset, monkeypatch):
    assert disk.files(monkeypatch).read(TAG, WORDS, place(payload, offset=offset)) is None


def test_no_changed_byte_is_believed(tmp_path, payload):
    """As a damaged disk, or somebody who writes there, leaves a file."""
    small = payload[:500]
    whole, rng = record(row(len(small)), small), random.Random(SEED)
    path = tmp_path / "1"
    for number in range(1500):
        changed = bytearray(whole)
        if number % 5 == 0:
            del changed[rng.randrange(len(changed)) :]
        elif number < len(whole):
            changed[number] ^= 1 << rng.randrange(8)
        else:
            for _ in range(rng.randrange(1, 30)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        if bytes(changed) == whole:
            continue
        path.write_bytes(changed)
        files = Files(lambda _: os.open(path, os.O_RDONLY | os.O_CLOEXEC), sleep=lambda _: None)
        found = files.read(TAG, WORDS, Place(OF_FILE | 1, 0, len(small), 0.0))
        if changed[80:88] != whole[80:88]:  # what it took to make, under the header's hash
            assert found is None
        assert found is None or bytes(found) == small, number
        files.keep_to(set())


def test_a_descriptor_that_the_program_has_closed_is_opened_again(disk, payload, monkeypatch):
    files = disk.files(monkeypatch)
    files.read(TAG, WORDS, place(payload))
    fd = next(iter(files._open.values()))[0]
    other = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(other, fd)
    assert bytes(files.read(TAG, WORDS, place(payload))) == payload
    files.keep_to(set())
    os.fstat(fd)  # it is the program's
    os.close(fd)
    os.close(other)


def test_descriptors_are_few_and_go(disk, payload, monkeypatch):
    monkeypatch.setattr(leaf_files.resource, "getrlimit", lambda _: (64, 64))
    files = disk.files(monkeypatch)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        assert files.read(TAG, WORDS, place(payload)._replace(file=OF_FILE | number)) is not None
    assert len(os.listdir("/proc/self/fd")) == before + 4
    files.keep_to({OF_FILE | 19})
    assert len(os.listdir("/proc/self/fd")) == before + 1
    files.keep_to(set())
    assert len(os.listdir("/proc/self/fd")) == before
    assert resource.RLIMIT_NOFILE is not None


def has_no_such_reads(monkeypatch, number):
    def preadv(*_):
        raise OSError(number, "no such reads")

    monkeypatch.setattr(leaf_files.os, "preadv", preadv)


NO_SUCH_READS = [errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL]


@pytest.mark.parametrize("number", NO_SUCH_READS)
def test_a_file_system_without_such_reads_is_asked_once(disk, payload, number, monkeypatch):
    """As some network file systems: a read there could wait for longer than a leaf takes to make."""
    files = disk.files(monkeypatch)
    has_no_such_reads(monkeypatch, number)
    before = len(os.listdir("/proc/self/fd"))
    for one in range(50):
        assert files.read(TAG, WORDS, place(payload)._replace(file=OF_FILE | one)) is None
    assert disk.opened == 1 and disk.slept == 0 and not files.can_read
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
def test_an_error_of_one_file_is_none_of_the_file_systems(disk, payload, number, monkeypatch):
    files = disk.files(monkeypatch)
    with monkeypatch.context() as failing:
        has_no_such_reads(failing, number)
        assert files.read(TAG, WORDS, place(payload)) is None
    assert files.can_read
    assert bytes(files.read(TAG, WORDS, place(payload))) == payload


def test_reads_are_none_of_the_codes_that_runs(disk, payload):
    files = Files(disk.open)
    before = _calls()
    assert files.read(TAG, WORDS, place(payload)) is not None
    assert files.read(TAG, WORDS, place(payload)) is not None
    after = _calls()
    assert before is not None and after is not None
    assert after[0] == before[0], "system calls"
    assert 0 <= after[2] - before[2] < 1000, "bytes; a look at the counts is some of them"


KEYS = [key_of_words((number, 1, 2, 3, 4, 5, 6)) for number in range(40)]
OLD = 1 << 40


def offered(lane, keys, seconds=0.01, size=20_000):
    for number, key in enumerate(keys):
        lane.offer(key, 0, OLD, (bytes([number]) * size,), seconds)


def test_lanes_find_in_files_what_lanes_have_made(tmp_path):
    worker = LeafWorker(folder=tmp_path)
    offered(worker.lane(), KEYS)
    lane = worker.lane()
    assert worker.entries == 40
    for number, key in enumerate(KEYS):
        found = lane.find(key)
        assert bytes(found) == bytes([number]) * 20_000
    lane.end()
    assert (worker.hits, worker.of_files, worker.misses) == (0, 40, 0)
    read = sum(counts.bytes for counts in worker.told)
    assert read == 40 * (20_000 + HEADER.size)


def test_what_takes_less_than_a_read_is_not_offered_to_files(tmp_path):
    worker = LeafWorker(folder=tmp_path)
    worker.read = 0.02
    lane = worker.lane()
    assert not lane.keeps(0.01, 20_000) and lane.keeps(0.03, 20_000)
    offered(lane, KEYS, seconds=0.01)
    lane.end()
    assert worker.entries == 0


@pytest.mark.parametrize("number", NO_SUCH_READS)
def test_a_lane_that_can_not_read_files_asks_for_none_and_offers_none(
    tmp_path, number, monkeypatch
):
    worker = LeafWorker(folder=tmp_path)
    offered(worker.lane(), KEYS[:20])
    lane = worker.lane()
    has_no_such_reads(monkeypatch, number)
    assert lane.may_keep and lane.wants_whole
    asked = worker.asked
    assert all(lane.find(key) is None for key in KEYS[:20])
    assert worker.asked == asked + 1
    assert not lane.keeps(0.01, 20_000) and not lane.may_keep and not lane.wants_whole
    offered(lane, KEYS[20:])
    lane.end()
    assert (worker.entries, worker.of_files, worker.misses) == (20, 0, 20)


def test_files_that_the_worker_has_given_up_are_misses(tmp_path):
    worker = LeafWorker(folder=tmp_path)
    offered(worker.lane(), KEYS)
    lane = worker.lane()
    for number in worker.segments:
        os.remove(worker.path_of(number))
    assert all(lane.find(key) is None for key in KEYS)
    lane.end()
    assert (worker.of_files, worker.misses) == (0, 40)


def test_a_second_thread_does_not_wait_for_the_firsts_read(tmp_path):
    worker = LeafWorker(folder=tmp_path)
    offered(worker.lane(), KEYS[:1])
    lane = worker.lane()
    with lane._reading:
        assert lane.find(KEYS[0]) is None
    assert lane.find(KEYS[0]) is not None


@pytest.mark.parametrize("text", [b"", b"x", b"1,2", b"1,2,3", b"1,2,3,4,5", b"1,2,x,4", b"\xff"])
def test_a_room_that_is_none_is_no_room(text):
    assert _room(text).most == 0
    assert _room(b"7").memory == 7
    assert _room(b"7,8,9000,1024") == (7, 8, 9e-6, 1e-9)


def test_pays_in_files_is_a_comparison_of_seconds():
    assert leaf_cost.pays_in_files(0.0051, 1_000_000, 0.001, 4e-9)
    assert not leaf_cost.pays_in_files(0.0049, 1_000_000, 0.001, 4e-9)


def test_arrays_come_from_files_with_memory_of_their_own(tmp_path):
    """What a hit returns can be written, whichever kind of memory the leaf was in."""
    worker = LeafWorker(folder=tmp_path)
    offered(worker.lane(), KEYS[:1])
    lane = worker.lane()
    first, second = lane.find(KEYS[0]), lane.find(KEYS[0])
    assert first.readonly
    assert not np.shares_memory(np.frombuffer(first, np.uint8), np.frombuffer(second, np.uint8))
