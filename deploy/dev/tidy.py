"""Runs clang-tidy over our sources, or compiles each header alone.

    python deploy/dev/tidy.py --build build/release [--since main] [--headers] [--jobs N]

With --since, only what differs from that commit (and, for clang-tidy, sources whose own header does).
"""

import argparse
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# GoogleTest's macros give the path-sensitive analyzer so many paths that one test takes it up to a
# minute. Tests run under the address sanitizer, all of them on the paths that there are.
TEST_CHECKS = ["--checks=-clang-analyzer-*"]


def git(*arguments):
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def is_test(name):
    return name.endswith("_test.cc") or name.startswith("tests/")


def compile_commands(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    return {Path(entry["file"]): shlex.split(entry["command"]) for entry in entries}


def plain_database(build, commands):
    """A compilation database for clang-tidy, which can't read what GCC has precompiled for tests."""
    entries = []
    for file, command in commands.items():
        words = list(command)
        for at in [i for i, word in enumerate(words) if word.endswith("/cmake_pch.hxx")]:
            del words[at - 1 : at + 1]  # with the -include before it
        entries.append({"file": str(file), "directory": str(build.resolve()), "arguments": words})
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def header_flags(commands):
    """Include folders and language flags of all sources together, in first-seen order."""
    flags = {"-std=c++20": None, "-fPIC": None, "-Wall": None, "-Wextra": None, "-Werror": None}
    for command in commands.values():
        pairs = zip(command, command[1:] + [""], strict=True)
        for argument, following in pairs:
            if argument == "-isystem":
                flags[f"-isystem{following}"] = None
            elif argument.startswith(("-I", "-DFMT_", "-DSPDLOG_")):
                flags[argument] = None
    return list(flags)


def run_all(named_commands, jobs):
    """Runs (name, command) pairs; prints the output of those that fail; returns how many did."""

    def one(job):
        name, command = job
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return name, done.returncode, done.stdout + done.stderr

    failures = 0
    with ThreadPoolExecutor(jobs) as pool:
        for number, (name, status, output) in enumerate(pool.map(one, named_commands), start=1):
            print(f"[{number}/{len(named_commands)}] {name}", flush=True)
            if status != 0:
                failures += 1
                print(output, flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--since")
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    ours = set(git("ls-files", "--cached", "--others", "--exclude-standard"))
    changed = ours
    if args.since:
        changed = set(git("diff", "--name-only", args.since))
        changed |= set(git("ls-files", "--others", "--exclude-standard"))
    commands = compile_commands(args.build)
    if args.headers:
        flags = header_flags(commands)
        headers = sorted(
            n for n in ours & changed if n.endswith(".h") and not n.startswith("bench/")
        )
        include = ["g++", "-fsyntax-only", "-x", "c++", *flags, "-include"]
        jobs = [(name, [*include, str(ROOT / name), "/dev/null"]) for name in headers]
    else:
        stems = {str(Path(name).with_suffix("")) for name in changed}
        sources = sorted(n for n in ours if n.endswith(".cc") and ROOT / n in commands)
        tidy = ["clang-tidy-16", "--quiet", "-p", str(plain_database(args.build, commands))]
        tidy += ["--extra-arg=-Wno-unknown-warning-option"]
        jobs = [
            (n, [*tidy, *(TEST_CHECKS if is_test(n) else []), n])
            for n in sources
            if str(Path(n).with_suffix("")) in stems
        ]
    failures = run_all(jobs, args.jobs)
    print(f"{len(jobs)} files, {failures} with findings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
