"""Code that does not pickle, raises, hangs or returns what cannot travel: a clear message each,
and otherwise what the program gets without us."""

import subprocess
import sys
from pathlib import Path

from support.both_ways import IN_PROGRAMS, compare
from support.headrace_program import HEADRACE, clean_environment

PROGRAM = Path(__file__).parent / "programs" / "bad_pipeline.py"


def results(compared):
    return [line for line in compared.told if line.startswith("result ")]


def test_a_dataset_that_does_not_pickle_is_served(tmp_path):
    compared = compare(PROGRAM, ["unpicklable"], tmp_path)
    assert compared.made["python"] == compared.samples == 12
    assert compared.said == [
        "headrace: DataLoader(Locked) runs as Python in its own workers: Locked is not a dataset with "
        "a native form: Locked.__getitem__ (bad_pipeline.py:30) has a with statement"
    ]


def test_a_class_of_the_program_itself_runs_on_the_workers(tmp_path):
    compared = compare(PROGRAM, ["of_main"], tmp_path)
    assert compared.made["python"] == compared.samples == 12
    assert compared.said == [
        "headrace: DataLoader(Numbers) runs as Python in its own workers: Numbers is not a dataset with "
        "a native form: Numbers.__getitem__ (bad_pipeline.py:22) calls float, which is not followed"
    ]


def test_a_dataset_that_raises_costs_its_own_batch(tmp_path):
    compared = compare(PROGRAM, ["raises"], tmp_path)
    assert compared.samples == 10 and compared.made["local"] == 0
    (error, end) = results(compared)
    # A stock worker cannot send the exception itself either: its class takes two arguments.
    assert "NoSuchSample: no sample 7 in the archive" in error and error.startswith("result 3 ")
    assert end == "result 6 end"


def test_a_dataset_that_hangs_is_an_error_after_its_timeout(tmp_path):
    compared = compare(PROGRAM, ["hangs", 15], tmp_path)
    assert compared.samples == 6
    assert results(compared) == [
        "result 3 RuntimeError  ['DataLoader timed out after 15.0 seconds']"
    ]


def test_a_batch_that_cannot_travel_is_an_error_that_names_it():
    """The stock loader waits for it for ever."""
    done = subprocess.run(
        [HEADRACE, "run", sys.executable, str(PROGRAM), "generator"],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(PYTHONPATH=str(IN_PROGRAMS)),
    )
    assert done.returncode == 0, done.stderr
    *errors, end = sorted(done.stdout.splitlines())
    assert len(errors) == 6 and end == "result 6 end"
    for step, line in enumerate(errors):
        assert line.startswith(f"result {step} TypeError")
        assert "cannot pickle 'generator' object" in line
