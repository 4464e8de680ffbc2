"""`--http`: what Prometheus, probes and strangers get from a coordinator and a worker."""

import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from support.headrace_program import (
    coordinator,
    free_address,
    free_port,
    headrace,
    ready_workers,
    refused,
    running,
    wait_for,
)


def get(port: int, page: str, token: str = "") -> tuple[int, str]:
    """Status and text; (0, ""): nobody listens."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{page}", headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def linted(text: str) -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_coordinator_and_its_worker(tmp_path):
    address, of_coordinator, of_worker = free_address(), free_port(), free_port()
    words = ["--http", f"127.0.0.1:{of_worker}"]
    with running("worker", "--coordinator", address, *words, HEADRACE_LOG="error"):
        wait_for(lambda: get(of_worker, "/healthz")[0] == 200, "health")
        assert get(of_worker, "/readyz") == (503, "no coordinator has answered\n")
        serve = ["--listen", address, "--http", f"127.0.0.1:{of_coordinator}"]
        with coordinator(*serve) as process:
            wait_for(lambda: get(of_worker, "/readyz")[0] == 200, "readiness")
            (worker,) = ready_workers(address)
            assert get(of_coordinator, "/healthz") == (200, "ok\n")
            assert get(of_coordinator, "/readyz") == (200, "ok\n")
            _, whole = get(of_coordinator, "/metrics")
            linted(whole)
            asked = headrace("metrics", "--coordinator", address).stdout
            names = re.compile(r"^(\w+)[{ ]", re.MULTILINE)
            assert set(names.findall(whole)) == set(names.findall(asked))
            assert 'headrace_pool_workers{pool="static",state="running"} 1\n' in whole
            status, own = get(of_worker, "/metrics")
            assert status == 200
            linted(own)
            assert f'headrace_worker_cpu_seconds_total{{worker_id="{worker["worker"]}"}} ' in own
            assert "headrace_coordinator" not in own

            process.send_signal(signal.SIGSTOP)
            try:
                assert get(of_worker, "/healthz") == (200, "ok\n")
            finally:
                process.send_signal(signal.SIGCONT)
        assert get(of_coordinator, "/healthz") == (0, "")


def test_a_token_is_wanted_where_there_is_one(tmp_path):
    token = tmp_path / "token"
    token.write_text("a word\n")
    token.chmod(0o600)
    port = free_port()
    words = ["--http", f"0.0.0.0:{port}", "--http-token-file", str(token)]
    with coordinator("--listen", free_address(), *words):
        wait_for(lambda: get(port, "/healthz")[0], "answer")
        assert get(port, "/metrics") == (401, "a token is wanted\n")
        assert get(port, "/metrics", "another") == (401, "a token is wanted\n")
        assert get(port, "/metrics", "a word")[0] == 200


@pytest.mark.parametrize("role", ["coordinator", "worker"])
def test_an_address_that_cannot_be_is_an_error_of_one_line(role, tmp_path):
    words = {
        "coordinator": ["coordinator", "--listen", free_address()],
        "worker": ["worker", "--coordinator", free_address()],
    }[role]
    port = free_port()
    quiet = {"HEADRACE_LOG": "error"}
    refused(headrace(*words, "--http", f"0.0.0.0:{port}", **quiet), "--http-token-file")
    refused(headrace(*words, "--http", "nonsense", **quiet), "HOST:PORT")
    missing = str(tmp_path / "missing")
    token_file = ["--http-token-file", missing]
    refused(headrace(*words, "--http", f"127.0.0.1:{port}", *token_file, **quiet), missing)
