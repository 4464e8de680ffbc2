"""Programs of bench/real whose shapes no other program here has: sound, words in LMDB, expressions over text,
a table that the program draws anew between epochs, files of points with a cache. Small data; all of them
in forks of one process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.headrace_program import clean_environment

REAL = Path(__file__).parents[2] / "bench" / "real"
PROGRAMS = (
    "speech_spectrograms",
    "noise_suppression",
    "words_in_lmdb",
    "text_classification",
    "translation_pairs",
    "recommendation_negatives",
    "clouds_from_text",
    "shards_in_order",
)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(REAL)
    import made_data
    import made_sequences

    rng = np.random.default_rng(1)
    made_sequences.make(tmp_path, rng, share=0.15)
    made_data.make_words(tmp_path, rng, share=0.15)
    return tmp_path


def test_programs_of_the_bench_have_the_same_batches_and_random_states(data):
    command = [sys.executable, REAL / "equality.py", "--there", "--data", data, *PROGRAMS]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(PROGRAMS)} of {len(PROGRAMS)} equal" in done.stdout
    made = [line for line in done.stdout.splitlines() if line.endswith("; equal")]
    assert len(made) == len(PROGRAMS) and not any("local" in line for line in made)
