"""Which tests of somebody else's suite fail under `headrace run` only.

    cd CHECKOUT && python .../compare_suites.py [PYTEST ARGUMENTS]

Runs pytest without and under `headrace run`; what failed only under it runs once more, alone, both ways,
so that a busy machine is not taken for a failure. Prints the times, and the name of each test that then
still fails only under it. Exit status: 1 if there is one, 2 if a run gave no results.
"""

import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
HEADRACE = [str(Path(sys.executable).with_name("headrace")), "run"]


def outcomes(file: Path) -> dict[str, str]:
    """Of a junit file: "class::test" -> passed, failed or skipped."""
    found = {}
    for case in ElementTree.parse(file).iter("testcase"):
        kinds = {child.tag for child in case}
        failed = kinds & {"failure", "error"}
        outcome = "failed" if failed else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return found


def only_under(without: dict[str, str], under: dict[str, str]) -> list[str]:
    """Tests that pass without, and under do not, be it that they are not there."""
    passed = [name for name, outcome in without.items() if outcome == "passed"]
    return sorted(name for name in passed if under.get(name, "missing") != "passed")


def run(before: list[str], arguments: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.xml"
        begun = time.monotonic()
        subprocess.run([*before, *PYTEST, *arguments, f"--junitxml={file}"], check=False)
        how = "under headrace run" if before else "without"
        print(f"{how}: {time.monotonic() - begun:.0f} s", flush=True)
        if not file.exists():
            sys.exit(2)
        return outcomes(file)


def main(arguments: list[str]) -> int:
    left = only_under(run([], arguments), run(HEADRACE, arguments))
    if left:
        names = [
            "-k",
            " or ".join(sorted({name.partition("::")[2].split("[")[0] for name in left})),
        ]
        again = only_under(run([], arguments + names), run(HEADRACE, arguments + names))
        left = [name for name in left if name in again]
    for name in left:
        print(f"fails only under headrace run: {name}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
