"""Programs as users of each framework write them: the same batches, made by workers.

programs/ has one file a framework, with no word of Headrace. Each runs as it is and under
`headrace run`, and prints a line with a checksum for each batch that its training step was given.
"""

from pathlib import Path

import pytest
from headrace.capture import python_stage
from headrace.capture.capture import describe
from support.both_ways import compare
from support.photos import write_jpegs
from torch.utils.data import DataLoader

PROGRAMS = Path(__file__).parent / "programs"
# Program -> how many samples its training steps see, and how they are made.
EXPECTED = {
    "ddp": (56, "native"),
    "with_accelerate": (48, "native"),
    "with_lightning": (81, "native"),
    "with_hf_trainer": (62, "python"),
    "with_hf_trainer_on_folder": (62, "native"),
    "with_torchdata": (54, "native"),
    "with_timm": (48, "python"),
    "with_timm_augment": (168, "python"),
    "with_timm_on_folder": (48, "native"),
    "with_hf_datasets": (108, "python"),
    "with_hf_streaming": (108, "python"),
    "with_hf_audio": (40, "python"),
    "with_webdataset": (94, "python"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("photos"), classes=3, count=9)


@pytest.mark.parametrize("name", EXPECTED)
def test_same_batches_from_workers(name, folder, tmp_path):
    samples, path = EXPECTED[name]
    compared = compare(PROGRAMS / f"{name}.py", [folder, "{out}", "{port}"], tmp_path)
    assert compared.samples == samples
    # Frameworks ask for a few batches that no training step sees.
    assert compared.made[path] >= samples and compared.made["local"] == 0, compared.made


def test_tables_on_disk_travel_by_path(tmp_path):
    """A memory-mapped table of Hugging Face is opened by the workers, not sent to them."""
    from datasets import Dataset, disable_progress_bars, load_from_disk

    disable_progress_bars()
    Dataset.from_dict({"text": ["x" * 1000] * 5000}).save_to_disk(tmp_path / "stored")
    data = load_from_disk(tmp_path / "stored").shuffle(seed=1)
    assert describe(data) == "datasets.Dataset"
    stage = python_stage.pack(DataLoader(data, num_workers=1), [])
    assert len(memoryview(stage.bundle)) < 1_000_000, "five million bytes of content"
