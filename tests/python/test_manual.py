"""The manual and the file of settings, by the program itself."""

import os
import pathlib
import re
import subprocess

from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    headrace,
    ready_workers,
    refused,
    wait_for,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "command-line.md"
SHIPPED = ("base", "cli", "coordinator", "dataworker", "net", "ops", "remote", "simulate", "web")
SHIPPED += ("trainer_client",)
# Of tests and benches, and a beginning of names.
NOT_OURS = {"HEADRACE_", "HEADRACE_BENCH_PHOTOS", "HEADRACE_TEST_SEED", "HEADRACE_UPDATE_DOCS"}


def test_the_page_is_what_the_program_says():
    page = headrace("manual", "--markdown").stdout
    if os.environ.get("HEADRACE_UPDATE_DOCS"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "HEADRACE_UPDATE_DOCS=1 writes it again"
    commands = page.partition("\n## Environment variables\n")[0]
    for heading in re.findall(r"^## .*", commands, re.MULTILINE):
        assert heading.startswith("## headrace "), heading


def test_each_variable_that_the_code_reads_is_on_the_page():
    read = set()
    for part in SHIPPED:
        for file in (ROOT / part).rglob("*"):
            if file.suffix not in (".cc", ".h", ".py") or "test" in file.stem:
                continue
            if "testing" in file.parts:  # of the tests, beside what they test
                continue
            read.update(re.findall(r"[\"'](HEADRACE[A-Z_]*)[\"']", file.read_text()))
    told = set(re.findall(r"^\| `(HEADRACE[A-Z_]*)` \|", PAGE.read_text(), re.MULTILINE))
    assert read - NOT_OURS == told


def test_man_takes_the_page(tmp_path):
    page = headrace("manual").stdout
    assert page.startswith(".TH HEADRACE 1 ")
    # A line that began with a dot by chance would be lost.
    known = (".TH", ".SH", ".SS", ".TP", ".B", ".BI", ".I", ".PP", ".nf", ".fi")
    for line in page.splitlines():
        assert not line.startswith((".", "'")) or line.split()[0] in known, line
    for word in ("headrace\\-", "jobs cancel", "\\-\\-listen", "HEADRACE_COORDINATOR"):
        assert word in page


def with_settings(tmp_path, text, *words, **environment):
    file = tmp_path / "headrace.toml"
    file.write_text(text)
    return headrace(*words, HEADRACE_CONFIG=str(file), **environment)


def test_settings_of_a_file_hold_for_commands(tmp_path):
    address = f"ipc://{tmp_path}/control"
    text = f'coordinator = "{address}"\n[jobs]\njson = true\n'
    with coordinator("--listen", address):
        answer = with_settings(tmp_path, text, "jobs")
        assert answer.returncode == 0, answer.stderr
        assert '"jobs": []' in answer.stdout
        assert with_settings(tmp_path, text, "workers").stdout == "no workers\n"
        refused(
            with_settings(tmp_path, text, "jobs", "--coordinator", f"ipc://{tmp_path}/other"),
            "/other",
        )
    refused(with_settings(tmp_path, "[jbos]\njson = true\n", "jobs"), "[jbos]: no such command")
    refused(headrace("jobs", HEADRACE_CONFIG=f"{tmp_path}/none"), f"{tmp_path}/none")


def test_programs_of_their_own_follow_no_file(tmp_path):
    """What Headrace starts by itself was told all: a section for a shared coordinator is not for it."""
    file = tmp_path / "headrace.toml"
    file.write_text('[coordinator]\nlisten = "tcp://0.0.0.0:1"\n[worker]\nthreads = 77\n')
    place = tmp_path / "e"
    words = ["coordinator", "--embedded", "--dir", str(place), "--workers", "1"]
    process = subprocess.Popen(
        [HEADRACE, *words, "--parent-pid", str(os.getpid())],
        env=clean_environment(HEADRACE_CONFIG=str(file)),
    )
    try:
        wait_for(lambda: (place / "ready").exists() or process.poll() is not None, "ready file")
        assert process.poll() is None
        (worker,) = wait_for(lambda: ready_workers(f"ipc://{place}/control"), "worker")
        assert worker["cores"] < 77
    finally:
        process.terminate()
        process.wait()
