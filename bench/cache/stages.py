"""The cache experiments of native plans again with programs whose data code runs as Python stages.

Coordinator, workers and programs are processes. Figures are lookups, entries, bytes and CPU seconds, which do not depend
on an idle machine. `--parts` runs some of them, and keeps the others' rows of the report that there is.
"""

import argparse
import json
import pathlib
import sys
import time

import stages_rooms
import stages_shares
import stages_words
from stages_cluster import HERE

sys.path.insert(0, str(HERE.parent / "e2e"))
import harness  # noqa: E402

NAME = "cache_of_stages"
PARTS = {
    "rooms": stages_rooms.rooms,
    "sharing": stages_rooms.sharing,
    "functions": stages_rooms.functions,
    "policies": stages_shares.policies,
    "tenants": stages_shares.tenants,
    "speeds": stages_shares.speeds,
    "advice": stages_shares.advice,
    "evictions": stages_shares.evictions,
    "tiers": stages_shares.tiers,
    "orders": stages_shares.orders,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    texts = stages_shares.make_texts(harness.ROOT / "build" / "stages_texts")
    kept = harness.REPORTS / f"{NAME}.json"
    found = json.loads(kept.read_text())["parts"] if kept.exists() else {}
    for name in args.parts:
        began = time.monotonic()
        part = PARTS[name]
        inputs = (args.data, texts)[: part.__code__.co_argcount]
        found[name] = part(*inputs)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    rows = [tuple(row) for name in PARTS for row in found.get(name, [])]
    harness.write_report(
        NAME,
        "The cache with Python stages",
        rows,
        {"photos": photos, "parts": {name: found[name] for name in PARTS if name in found}},
        stages_words.NOTE,
    )


if __name__ == "__main__":
    main()
