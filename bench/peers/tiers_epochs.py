"""What the programs of tiers.py have in common: an epoch for each line of standard input."""

import json
import sys
import time


def serve(epoch):
    """`epoch()` reads one and returns its samples. Says "ready" first, then a JSON line for each epoch."""
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        samples = epoch()
        print(json.dumps({"seconds": time.perf_counter() - begin, "samples": samples}), flush=True)


def count_batches(loader):
    """Samples of an epoch of batches of (images, labels). The consumer does nothing with them."""
    return sum(len(labels) for _, labels in loader)
