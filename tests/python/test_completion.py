"""`headrace completion`: what the shells make of it. And what is said of words that are none."""

import subprocess

import pytest
from support.headrace_program import headrace, refused


@pytest.fixture
def script(tmp_path):
    def write(shell: str):
        done = headrace("completion", shell)
        assert done.returncode == 0, done.stderr
        path = tmp_path / "script"
        path.write_text(done.stdout)
        return path

    return write


def words(done: subprocess.CompletedProcess) -> set[str]:
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


def shell(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


CASES = [
    (["headrace", "co"], {"coordinator", "completion"}),
    (["headrace", "datasets", "p"], {"pin"}),
    (["headrace", "datasets", "pin", "--coo"], {"--coordinator"}),
    (
        ["headrace", "coordinator", "--http"],
        {"--http", "--http-token-file", "--http-admin-token-file"},
    ),
    (["headrace", "jobs", "--listen"], set()),
    (["headrace", "worker", "--coordinator", "jobs", "--thr"], {"--threads"}),
]


@pytest.mark.parametrize("line, expected", CASES)
def test_bash(script, line, expected):
    text = f'source "$1"; COMP_WORDS=({" ".join(line)}); COMP_CWORD={len(line) - 1}; '
    done = shell("bash", "-c", text + '_headrace; echo "${COMPREPLY[@]}"', "bash", script("bash"))
    assert words(done) == expected


@pytest.mark.parametrize("line, expected", CASES)
def test_fish(script, line, expected):
    text = f"source {script('fish')}; complete -C '{' '.join(line)}'"
    told = shell("fish", "--no-config", "-c", text)
    assert told.returncode == 0, told.stderr
    assert {one.split("\t")[0] for one in told.stdout.splitlines()} == expected


def test_zsh_takes_the_script(script):
    text = f'autoload -U compinit && compinit -u -D && source "{script("zsh")}" && echo ${{_comps[headrace]}}'
    done = shell("zsh", "-f", "-c", text)
    assert (done.returncode, done.stderr) == (0, "") and "bash_complete" in done.stdout


@pytest.mark.parametrize(
    "line, said",
    [
        ("jbos", "no subcommand jbos; did you mean jobs? See headrace --help"),
        ("status", "no subcommand status; see headrace --help"),
        ("datasets wram x", "no subcommand wram; did you mean warm? See headrace datasets --help"),
        ("jobs --coordinater=x", "no option --coordinater; did you mean --coordinator? "),
        ("run --workrs 2 x.py", "no option --workrs; did you mean --workers? See headrace run"),
        ("jobs show --coordinator tcp://a:1", "job is required; see headrace --help"),
    ],
)
def test_a_wrong_word_is_named_with_what_was_meant(line, said):
    refused(headrace(*line.split()), said)
