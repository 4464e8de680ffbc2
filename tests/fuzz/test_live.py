"""Hostile bytes for real servers, for some seconds; live.py says what they are, and runs for longer."""

import os
import random

from fuzz.live import fuzz


def test_servers_and_a_program_live_through_hostile_bytes(tmp_path):
    seed = int(os.environ.get("HEADRACE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"HEADRACE_TEST_SEED={seed}")
    counts = fuzz(5, seed, tmp_path)
    assert counts["messages"] > 100
    assert counts["epochs"] > 0
