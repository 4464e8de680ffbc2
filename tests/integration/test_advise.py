"""What would help the jobs of a live coordinator, and why each has what it has."""

import contextlib
import json
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    headrace,
    ready_workers,
    refused,
    running,
    wait_for,
    wait_for_answer,
)

# Takes batches as fast as they come, until it is killed.
TRAIN = """
import sys, torch, headrace
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
headrace.install()
chain = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
loader = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 2, num_workers=1)
while True:
    for images, _ in loader:
        pass
"""
RULES = {"enough", "priority", "quota", "source", "utilization"}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("advise") / "photos" / "class0"
    folder.mkdir(parents=True)
    draws = numpy.random.default_rng(5)
    for number in range(64):
        pixels = draws.integers(0, 256, (300, 300, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(folder / f"{number:02}.jpg")
    return folder.parent


@contextlib.contextmanager
def training(address, photos, **environment):
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(photos)],
        env=clean_environment(HEADRACE_COORDINATOR=address, **environment),
        stdout=subprocess.DEVNULL,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def asked(address, *words):
    answer = headrace(*words, "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def measured(address):
    jobs = json.loads(asked(address, "jobs", "--json"))["jobs"]
    return jobs if len(jobs) == 2 and all(each["need"] and each["why"] for each in jobs) else None


def test_who_does_not_answer_or_has_no_job_says_so(tmp_path):
    address = free_address()
    refused(headrace("advise", "--coordinator", address), "no coordinator answers at " + address)
    with coordinator("--listen", address):
        wait_for_answer(address)
        refused(headrace("advise", "--coordinator", address), "no job runs")
        refused(headrace("advise", "3", "--coordinator", address), "no job runs")
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    for words in (["advise"], ["simulate"]):
        refused(headrace(*words, "--from-state", str(wrong)), "wrong.json", "headrace state 1")
        refused(headrace(*words, "--from-state", str(tmp_path / "none")), "none")


def test_two_jobs_of_a_coordinator(photos, tmp_path):
    address = free_address()
    words = ["--coordinator", address, "--threads", "1", "--directory", str(tmp_path / "w")]
    with coordinator("--listen", address), running("worker", *words):
        wait_for(lambda: ready_workers(address), "worker")
        with (
            training(address, photos, HEADRACE_EPOCHS="100000"),
            training(address, photos),
        ):
            jobs = wait_for(lambda: measured(address), "measurements", 60)
            number = next(str(e["job"]) for e in jobs if e["remaining_samples"] is not None)
            # Why it has what it has.
            shown = json.loads(asked(address, "jobs", "show", number, "--json"))
            assert shown["why"]["rule"] in RULES
            assert shown["why"]["cores"] > 0 and shown["need"]["core_seconds_per_miss"] > 0
            page = asked(address, "jobs", "show", number)
            (line,) = [each for each in page.splitlines() if each.startswith("why ")]
            assert "cores" in line
            # What would help.
            table = asked(address, "advise")
            assert "MEAN TIME LEFT" in table and "+1 core " in table
            assert "Headrace gives no GPUs, and does not do it" in table
            assert "The remaining work of 1 job is not known" in table
            answer = json.loads(asked(address, "advise", number, "--json"))
            assert answer["policy"] == "utilization" and answer["job"] == number
            assert {each["job"] for each in answer["now"]["jobs"]} == {str(e["job"]) for e in jobs}
            kinds = [each["change"] for each in answer["changes"]]
            assert "cores" in kinds and "priority" in kinds
            assert [each["job"] for each in answer["gpu_order_for_scheduler"]][0] == number
            refused(headrace("advise", "99", "--coordinator", address), "no job 99 runs")
            state = asked(address, "advise", "--state")
    # The state outlives its coordinator, and a row is a simulation of the changed state.
    path = tmp_path / "state.json"
    path.write_text(state)
    told = headrace("advise", number, "--json", "--from-state", str(path))
    assert told.returncode == 0, told.stderr
    (row,) = [each for each in json.loads(told.stdout)["changes"] if each["change"] == "cores"][:1]
    (then,) = [each for each in row["then"]["jobs"] if each["job"] == number]
    changed = json.loads(state)
    changed["cluster"]["extra_cores"] += row["amount"]
    done = subprocess.run(
        [HEADRACE, "simulate", "--from-state", "-", "--json"],
        input=json.dumps(changed),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (job,) = [each for each in changed["jobs"] if each["job_id"] == number]
    left = json.loads(done.stdout)["avg_jct_s"] - (changed["time_s"] - job["arrival_s"])
    assert left == pytest.approx(then["left_s"], rel=1e-6)
