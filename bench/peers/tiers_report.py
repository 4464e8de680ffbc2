"""bench/report/tiers.{md,json}."""

from __future__ import annotations

import statistics

import tiers_systems
from tiers_systems import harness

# Ours and theirs: (system, tier, source, epochs); what each is.
PAIRS = (
    ("from memory, over tf.data's cache()",
     ("Headrace", "memory", "disk", "later"), ("tf.data", "cache()", "disk", "later")),
    ("from memory, over FFCV raw from the page cache",
     ("Headrace", "memory", "disk", "later"), ("FFCV raw", "page cache", "disk", "later")),
    ("from a local disk, over tf.data's cache(file)",
     ("Headrace", "local disk", "disk", "later"), ("tf.data", "cache(file)", "disk", "later")),
    ("from a local disk, over FFCV raw",
     ("Headrace", "local disk", "disk", "later"), ("FFCV raw", "local disk", "disk", "later")),
    ("from files, over the stock loader",
     ("Headrace", "source", "disk", "later"), ("stock DataLoader", "source", "disk", "later")),
    ("from files, over MosaicML Streaming",
     ("Headrace", "source", "disk", "later"), ("MosaicML Streaming", "source", "disk", "later")),
    ("from files, over LitData",
     ("Headrace", "source", "disk", "later"), ("LitData", "source", "disk", "later")),
    *(
        (f"{what} of {source}, over {peer}",
         ("Headrace", "memory", source, epochs), (peer, "its local copy", source, epochs))
        for source in ("20 MB/s", "50 ms")
        for what, epochs in (("first epoch", "first"), ("later epochs, memory,", "later"))
        for peer in ("MosaicML Streaming", "LitData")
    ),
)  # fmt: skip


NOTES = (
    "Random crops of 224 x 224 and flips, uint8, batches of 64, two cores; nothing is done with a batch. "
    "Each row is a program of its own, for Headrace with a coordinator and workers, whose CPU counts too. "
    "Files of the first epoch, and all of `local disk` and `cache(file)`, come from the disk: their pages "
    "are dropped from memory before. FFCV compiles before its first epoch; its resize and tf.data's have "
    "other bits than Pillow's, Headrace's has the same. Streaming and LitData keep JPEG files. `Peers` are "
    "four workers of one host with a quarter of the entries each. `Versions believed`: `remember=3600`; else "
    "each use of a cached object asks the store for its version, which Streaming and LitData never do. The "
    "store runs on the same two cores.",
    "",
)


def write(photos: dict, runs: list[dict], absent: dict, failures: list[str]) -> None:
    by_row = {}
    for run in runs:
        by_row.setdefault((run["system"], run["tier"], run["source"]), []).append(run)

    def of(row, epochs, figure):
        return {run["round"]: run[epochs][figure] for run in by_row[row]}

    def over(ours, theirs):
        """Round by round, where both have ended well."""
        return shown([ours[number] / theirs[number] for number in ours if number in theirs], 2)

    def shown(values, digits):
        values = list(values.values()) if isinstance(values, dict) else values
        return harness.show(harness.spread(values), digits) if values else "none"

    base = of(("Headrace", "source", "disk"), "first", "rate")
    lines = [
        "| system, tier | source | first epoch, samples/s | CPU-s a 1,000 | later epochs, samples/s | CPU-s a 1,000 | later, over Headrace's first epoch from disk |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in by_row:
        later = of(row, "later", "rate")
        ratio = over(later, base)
        lines.append(
            f"| {row[0]}, {row[1]} | {row[2]} | {shown(of(row, 'first', 'rate'), 0)} "
            f"| {shown(of(row, 'first', 'cpu_s_per_1000'), 2)} | {shown(later, 0)} "
            f"| {shown(of(row, 'later', 'cpu_s_per_1000'), 2)} | {ratio} |"
        )
    lines += ["", "| Headrace over a peer | samples/s | CPU-s a 1,000 |", "|---|---|---|"]
    for what, ours, theirs in PAIRS:
        if ours[:3] in by_row and theirs[:3] in by_row:
            cells = [
                over(of(ours[:3], ours[3], figure), of(theirs[:3], theirs[3], figure))
                for figure in ("rate", "cpu_s_per_1000")
            ]
            lines.append(f"| {what} | {cells[0]} | {cells[1]} |")
    peers = [run["hits"] for run in runs if run["tier"] == "peers"]
    shares = [hits.get("peers", 0) / sum(hits.values()) for hits in peers]
    load = statistics.median(run["load"] for run in runs)
    rows = [
        ("rounds", str(len(base))),
        ("hits that came from other workers, in the rows `peers`", shown(shares, 2)),
        ("load of the machine, most of it by others", f"{load:.1f}"),
        *((f"not there: {name}", why) for name, why in absent.items()),
        ("runs that ended with an error, and are left out", str(len(failures))),
    ]
    harness.write_report("tiers", "Each tier of the cache, and peers", rows,
                         {"photos": photos, "runs": runs, "absent": absent, "failures": failures})  # fmt: skip
    path = tiers_systems.harness.REPORTS / "tiers.md"
    path.write_text(path.read_text() + "\n" + "\n".join([*NOTES, *lines]) + "\n")
    print("\n".join(lines))
