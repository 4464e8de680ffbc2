"""A result that was given in place of a call turns out to be wrong: no batch that waits for the program is handed out
as it is. Programs by `headrace run`, with and without."""

import json
import os
import re
import subprocess
import sys

import pytest
from headrace.serve import made_again
from headrace.serve.made_again import Doubted
from headrace.service.report import LoaderReport
from headrace.stage import call_board, doubts
from support.extent import some
from support.headrace_program import HEADRACE, clean_environment

# What a name can't see. From the epoch on of which the file tells, what is kept is another result than the function's
# own; one lane finds it out by a comparison, in the middle of the epoch. It does not compare before the program has
# taken two batches: its open waits until the program has the pipe open.
PLANT = """
import os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
FLAG, TAKEN = os.path.join(HERE, "flag"), os.path.join(HERE, "taken")


def is_on():
    return os.path.exists(FLAG)


if os.environ.get("TEST_PLANTS"):
    from headrace.stage import cached_calls, cached_rules, kept_entry, kept_results
    from torch.utils.data import get_worker_info

    true_value, true_same = kept_entry.Entry.value, kept_results.Packed.same
    hits = 0

    def value(self, atoms):
        made = true_value(self, atoms)
        return made + 1 if is_on() else made

    def same(self, entry):
        return not is_on() and true_same(self, entry)

    def takes(self, compared, seconds, cpu):
        global hits
        if not is_on():
            return compared < 4
        hits += 1
        if get_worker_info().id != 1 or hits != int(os.environ["TEST_FOUND_AT"]):
            return False
        os.close(os.open(TAKEN, os.O_RDONLY))
        return True

    kept_entry.Entry.value, kept_results.Packed.same = value, same
    cached_rules.Budget.takes = takes
"""

PROGRAM = """
import hashlib, json, os, random, sys, time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
import plant
import headrace

torch.set_num_threads(1)
given = json.loads(sys.argv[1])
BASE = np.linspace(0, 1, 4000)


def made(i):  # takes several times what a found function must, so that lanes may give results of it
    return np.sin(np.outer(BASE, BASE[:200]) * i).sum(axis=0)


if given["declared"]:
    made = headrace.cached(made)


class Data(Dataset):
    def __init__(self):
        self.count, self.last = 0, 0.0

    def __len__(self):
        return 48

    def __getitem__(self, i):
        result = made(int(i))
        self.count += 1  # state of the lane's program
        drawn = random.random() + np.random.rand() + torch.rand(1).item()
        row = [float(result.sum()), self.last, self.count, drawn, i]
        self.last = row[0]  # what it keeps of a result
        print(f"item {i} {self.count} {drawn}")
        return torch.tensor(row, dtype=torch.float64)


class Stream(IterableDataset):
    def __init__(self):
        self.data = Data()

    def __iter__(self):
        lane = get_worker_info()
        for i in range(lane.id, 48 - lane.id * 8, lane.num_workers):
            yield self.data[i]


def begin(lane):
    print(f"lane {lane} begins")
    random.seed(lane)


def is_found():
    from headrace.stage import call_board

    return call_board.board is not None and bool(call_board.board.ended())


def main():
    random.seed(3), torch.manual_seed(3)
    plants, lanes = bool(os.environ.get("TEST_PLANTS")), given["lanes"]
    named = {} if given["stream"] else {"shuffle": True}
    loader = DataLoader(
        Stream() if given["stream"] else Data(), 4, num_workers=lanes, prefetch_factor=given["prefetch"],
        persistent_workers=given["persistent"], worker_init_fn=begin, multiprocessing_context=given["start"], **named
    )
    batches, after = [], []
    for epoch in range(given["epochs"]):
        if epoch == given["wrong"]:
            open(plant.FLAG, "w").close()
        for number, batch in enumerate(loader):
            batches.append(hashlib.sha1(batch.numpy().tobytes()).hexdigest())
            if plants and epoch == given["wrong"] and number == 1:
                from headrace.stage import doubts

                known, end = bytes(doubts.here.number), time.monotonic() + 60
                os.open(plant.TAKEN, os.O_RDWR)  # does not wait, and stays open for lanes that come later
                while bytes(doubts.here.number) == known and time.monotonic() < end:
                    time.sleep(0.01)  # the program takes its time, and batches wait for it
                assert bytes(doubts.here.number) != known
                assert is_found() or given["start"] == "spawn"
                after.append(len(batches))
            if given["leaves"] and epoch == given["wrong"] and number == 2:
                break  # while what waited is made again
        batches.append(hashlib.sha1(torch.get_rng_state().numpy().tobytes()).hexdigest())
    print("made", json.dumps([batches, after]))


if __name__ == "__main__":
    main()
"""
DEFAULT = {
    "declared": True, "stream": False, "persistent": False, "lanes": 2, "prefetch": 2, "epochs": 5,
    "wrong": 3, "start": "fork", "leaves": False, "found_at": 10,
}  # fmt: skip


def run(tmp_path, given, served):
    """What the program got, when it went on after the difference; its lanes' lines, the report, and standard error."""
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(PROGRAM)
    (tmp_path / "plant.py").write_text(PLANT)
    (tmp_path / "flag").unlink(missing_ok=True)
    if served:
        os.mkfifo(tmp_path / "taken")
    command = [sys.executable, str(program), json.dumps(given)]
    environment = clean_environment(XDG_CACHE_HOME=str(tmp_path))
    if served:
        command = [
            HEADRACE,
            "run",
            "--report",
            str(report),
            "--cache",
            "1G",
            "--workers",
            "1",
            *command,
        ]
        environment |= {"TEST_PLANTS": "1", "TEST_FOUND_AT": str(given["found_at"])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    batches, after = json.loads(next(line for line in lines if line.startswith("made "))[5:])
    told = json.loads(report.read_text()) if served else {}
    return (
        batches,
        after,
        sorted(line for line in lines if not line.startswith("made ")),
        told,
        done.stderr,
    )


CASES = {
    "declared": {},
    "found": {"declared": False, "epochs": 8, "wrong": 6, "prefetch": 4, "lanes": 3},
    "declared, prefetch_factor 4": {"prefetch": 4, "lanes": 3, "found_at": 14},
    "found, prefetch_factor 2": {"declared": False, "epochs": 8, "wrong": 6},
    "iterable": {"stream": True},
    "persistent": {"persistent": True},
    "persistent and iterable": {"persistent": True, "stream": True},
    "found, persistent": {"declared": False, "persistent": True, "epochs": 8, "wrong": 6},
    "left": {"leaves": True},
    "left, persistent": {"leaves": True, "persistent": True},
    "spawned": {"start": "spawn"},
}


@pytest.mark.parametrize("case", some(CASES, ["declared", "found"]))
def test_every_batch_after_a_difference_is_as_stocks(tmp_path, case):
    given = DEFAULT | CASES[case]
    stock, _, said_by_stock, _, _ = run(tmp_path, given, served=False)
    served, after, said, told, err = run(tmp_path, given, served=True)
    assert "no longer kept" in err, err
    begin = after[0]
    assert served[begin:] == stock[begin:], [a == b for a, b in zip(served, stock, strict=True)]
    assert served[:begin] != stock[:begin], "what was planted was given before"
    again = [one["batches_made_again"] for one in told["loaders"]]
    # How many wait is how many lanes have made by then, which nobody can foretell.
    (waited,) = re.findall(r"begin again, .*: (\d+) batch(?:es)? that waited", err)
    assert sum(again) == int(waited), err
    if given["start"] != "spawn":
        functions = {one["name"]: one for one in told["cached_functions"]}
        assert functions["made"]["batches_made_again"] == sum(again), functions
    if not given["leaves"]:
        assert said == said_by_stock, "nothing is printed twice"


class Session:
    def __init__(self, waited):
        self.waited, self.asked = waited, []

    def make_again(self, lanes):
        self.asked.append(lanes)
        return self.waited


@pytest.fixture
def board(monkeypatch):
    board = call_board.Board()
    monkeypatch.setattr(call_board, "board", board)
    monkeypatch.setattr(doubts, "here", None)
    monkeypatch.setattr(made_again, "_ended_elsewhere", False)
    return board


def told(doubted, session):
    report = LoaderReport("Data", 2)
    return doubted.told(session, [0, 1], report, "Data"), report.batches_made_again


def test_what_was_compared_each_time_is_not_made_again(board, capfd):
    doubted, session = Doubted(gives=True, shares=True), Session(3)
    board.end(7, "it differs")
    assert told(doubted, session) == (False, 0) and session.asked == []
    assert doubted.gives and capfd.readouterr().err == ""


def test_lanes_begin_again_once(board, capfd):
    board.believe(8), board.end(8, "before these lanes began")
    doubted, session = Doubted(gives=True, shares=True), Session(3)
    board.believe(7), board.believe(9)
    assert told(doubted, session) == (False, 0), "of those that ended since"
    board.end(7, "it differs")
    assert told(doubted, session) == (True, 3) and session.asked == [[0, 1]]
    assert board.made_again == {7: 3} and "3 batches that waited" in capfd.readouterr().err
    board.end(9, "it differs")
    assert told(doubted, session) == (False, 0), "they gave nothing since"
    assert session.asked == [[0, 1]]


def test_what_cannot_be_made_again_is_said_each_time(board, capfd):
    doubted, session = Doubted(gives=True, shares=True), Session(-1)
    for number in (7, 9):
        board.believe(number), board.end(number, "it differs")
        assert told(doubted, session) == (False, 0)
        assert "may have been made from a wrong result" in capfd.readouterr().err
    assert doubted.gives, "other functions"


def test_lanes_that_are_spawned_give_nothing_after_a_difference(board):
    doubted, session = Doubted(gives=True, shares=False), Session(1)
    assert told(doubted, session) == (False, 0), "nothing was given that was not compared"
    assert not Doubted(gives=True, shares=False).gives
    assert Doubted(gives=True, shares=True).gives
    doubts.prepare().believe()
    assert told(doubted, session) == (True, 1)
