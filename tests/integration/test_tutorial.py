"""docs/start.md: its program and its commands, as they stand there. tests/integration/test_first_hour.py types them on
other systems."""

import os
import subprocess

from support.headrace_program import HEADRACE, clean_environment, free_port
from support.operate_page import write_python
from support.start_page import check, commands, write_program


def test_the_tutorial_does_what_it_says(tmp_path):
    write_program(tmp_path)
    programs = tmp_path / "bin"
    write_python(programs)
    (programs / "headrace").symlink_to(HEADRACE)
    done = subprocess.run(
        ["bash", "-c", commands({port: str(free_port()) for port in ("7070", "9470")})],
        cwd=tmp_path,
        env=clean_environment(HOME=str(tmp_path), PATH=f"{programs}:{os.environ['PATH']}"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check(tmp_path, done.stdout, done.stderr)
