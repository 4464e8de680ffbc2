"""Contract of `headrace cache` and `headrace datasets`: they say what a program's samples take where."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.headrace_program import headrace as command
from support.photos import encode_photo

FILES = 12
PROGRAM = """
    import sys
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader
    from torchvision import datasets
    data = datasets.ImageFolder(sys.argv[1], train_v1())
    loader = DataLoader(data, 4, shuffle=True, num_workers=1, persistent_workers=True)
    def epoch():
        for _ in loader:
            pass
    epoch()
    print("cached", flush=True)
    while sys.stdin.readline():
        epoch()
        print("again", flush=True)
"""


def told(name: str, address: str) -> list[dict]:
    answer = command(name, "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)["workers" if name == "cache" else name]


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos" / "class"
    folder.mkdir(parents=True)
    for i in range(FILES):
        (folder / f"{i}.jpg").write_bytes(encode_photo(300, 200, i))
    return folder.parent


def test_they_show_a_programs_samples_where_they_are(photos, tmp_path):
    """The program asks for no cache: the worker's is for every job."""
    address = free_address()
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    words = ("--coordinator", address, "--threads", "1", "--cache", "64M")
    with (
        coordinator("--listen", address, "--heartbeat-ms", "200"),
        running("worker", *words, HEADRACE_LOG="error"),
    ):
        wait_for_answer(address)
        wait_for(lambda: ready_workers(address), "worker")
        assert told("datasets", address) == []
        run = [HEADRACE, "run", "--coordinator", address, "--remote-only", sys.executable]
        with subprocess.Popen(
            [*run, str(file), str(photos)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1"),
        ) as program:
            try:
                assert program.stdout.readline() == "cached\n"

                def full() -> dict | None:
                    """Whatever was made before the grant came is not there yet."""
                    program.stdin.write("\n")
                    program.stdin.flush()
                    assert program.stdout.readline() == "again\n"
                    (worker,) = told("cache", address)
                    (part,) = worker["datasets"] or [{"entries": 0}]
                    return worker if part["entries"] == FILES and part["hits"] >= FILES else None

                worker = wait_for(full, "all samples in the cache")
                (part,), (tier,) = worker["datasets"], worker["tiers"]
                assert part["form"] == "decoded"
                # Pixels, and what a record of the cache takes beside them.
                assert (
                    FILES * 300 * 200 * 3 <= part["bytes"] <= tier["bytes"] <= tier["budget_bytes"]
                )
                assert (tier["tier"], tier["budget_bytes"]) == ("memory", 64 << 20)
                assert 0 < part["quota_bytes"] <= worker["granted_bytes"]

                def steady() -> dict | None:
                    full()
                    (data,) = told("datasets", address)
                    return data if data["hit_share"] > 0.9 else None

                data = wait_for(steady, "hits")
                assert data["name"] == f"ImageFolder({photos})"
                assert data["samples"] == FILES
                assert data["phase"] == "steady"
                assert data["cached_bytes"] == part["bytes"]
                assert data["bytes"] >= data["cached_bytes"]
                assert data["hit_share_when_full"] == pytest.approx(1, abs=0.01)
                assert len(data["jobs"]) == 1
                table = command("datasets", "--coordinator", address).stdout
                assert "PHASE" in table
                assert "steady" in table
            finally:
                program.kill()
