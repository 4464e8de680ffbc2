"""Tokens from a memory map: stock, in lanes as Python code, and windows that a worker reads by itself.

The program is that of `handles`. In lanes it runs because of one call that is not followed. All ways have the
whole machine, one after the other.
"""

import argparse
import pathlib
import tempfile

import harness
import numpy as np

PROGRAM = harness.ROOT / "bench" / "e2e" / "handles_program.py"
OPTIONS = ["--workers", "1", "--threads", "1"]
WAYS = (
    ("stock", harness.Variant("stock", None), []),
    ("lanes", harness.Variant("lanes", ["--workers", "1"]), ["--as-code"]),
    ("native", harness.Variant("native", OPTIONS), []),
)
PATHS = {"lanes": "python", "native": "native"}


def rate(result: dict) -> float:
    """Million tokens a second, in epochs after the first."""
    later = result["epochs_s"][1:]
    return result["tokens"] * len(later) / sum(later) / 1e6


def cpu(result: dict) -> float:
    """CPU milliseconds a million tokens, of the program and all that it started, start included."""
    tokens = result["tokens"] * len(result["epochs_s"])
    return (result["own_cpu_s"] + result["children_cpu_s"]) * 1e9 / tokens


def measured(what: str, way: harness.Variant, words: list[str]) -> dict:
    result = harness.run(way, words, PROGRAM)
    report = result.pop("report", None)
    if report is not None:
        paths = [loader["path"] for loader in report["loaders"]]
        assert paths == [PATHS[what]], paths
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=20_000_000)
    args = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "tokens.bin"
        np.random.default_rng(0).integers(0, 50_000, args.tokens, np.uint16).tofile(path)
        for pair in range(args.pairs):
            print(f"  {pair + 1} of {args.pairs}", flush=True)
            runs.append(
                {
                    what: measured(what, way, [str(path), *words])
                    for what, way, words in WAYS[:: 1 if pair % 2 else -1]
                }
            )
        said = {
            measured(what, way, [str(path), *words, "--digest"])["digest"]
            for what, way, words in WAYS
        }

    def shown(value, digits=2):
        return harness.show(harness.spread([value(run) for run in runs]), digits)

    rows = [
        ("stock, million tokens a second", shown(lambda run: rate(run["stock"]), 1)),
        ("stock, CPU ms a million tokens", shown(lambda run: cpu(run["stock"]), 1)),
    ]
    for what in ("lanes", "native"):
        rows += [
            (f"{what}, times as fast", shown(lambda run, of=what: rate(run[of]) / rate(run["stock"]))),
            (f"{what}, times stock's CPU", shown(lambda run, of=what: cpu(run[of]) / cpu(run["stock"]))),
        ]  # fmt: skip
    rows.append(("batches equal in all three", "yes" if len(said) == 1 else "NO"))
    harness.write_report("array_files", "Windows of a memory map", rows, {"runs": runs})


if __name__ == "__main__":
    main()
