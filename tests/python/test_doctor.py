"""`headrace doctor` at real servers."""

import json

from support.headrace_program import free_address, headrace, ready_workers, running, wait_for


def levels(address: str, **environment: str) -> tuple[int, list[str], str]:
    """Exit status, levels, and all texts and remedies."""
    done = headrace("doctor", "--json", "--coordinator", address, **environment)
    found = json.loads(done.stdout)["findings"]
    said = "\n".join(f"{one['text']}: {one['remedy']}" for one in found)
    return done.returncode, [one["level"] for one in found[1:]], said


def test_a_pool_from_nothing_to_well(tmp_path):
    address, log = free_address(), tmp_path / "log"
    assert levels(address)[:2] == (1, ["problem"])
    with running("coordinator", "--listen", address, log=log, HEADRACE_LOG="warning"):
        wait_for(lambda: "reached in" in levels(address)[2], "coordinator")
        code, found, said = levels(address)
        assert (code, found) == (1, ["ok", "problem"])
        assert f"headrace worker --coordinator {address}" in said
        with running("worker", "--coordinator", address, "--threads", "1", HEADRACE_LOG="error"):
            wait_for(lambda: ready_workers(address), "worker")
            assert levels(address)[:2] == (0, ["ok", "ok"])
            done = headrace("doctor", "--coordinator", address)
            assert done.returncode == 0 and done.stdout.startswith("ok       this host: release ")
    assert log.read_text() == "", "to look leaves no line in the server's log"


def test_keys_that_differ_are_said(tmp_path):
    address = free_address()
    assert headrace("keys", str(tmp_path / "one")).returncode == 0
    keys = str(tmp_path / "one")
    with running("coordinator", "--listen", address, HEADRACE_LOG="error", HEADRACE_KEYS=keys):
        wait_for(lambda: levels(address, HEADRACE_KEYS=keys)[1][0] == "ok", "coordinator")
        code, found, said = levels(address)
        assert (code, found) == (1, ["problem"]) and "--keys" in said


def test_without_a_coordinator_programs_run_alone():
    done = headrace("doctor")
    assert done.returncode == 0 and "workers of their own" in done.stdout
