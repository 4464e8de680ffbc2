"""Code of the program as it arrives on a worker."""

import subprocess
import sys

from headrace.capture import capture
from support.pipelines import Numbers, collate_names
from torch.utils.data import DataLoader


def test_code_keeps_the_name_of_its_file(monkeypatch):
    """Tracebacks of a worker name the program's files, whatever cloudpickle is installed."""
    monkeypatch.setenv("HEADRACE_COORDINATOR", "tcp://127.0.0.1:9")  # nobody is asked
    loader = DataLoader(Numbers(), num_workers=1, collate_fn=collate_names)
    bundle = bytes(capture(loader, "auto", None).plan.python.bundle)
    code = (
        "import pickle, sys; data = pickle.load(sys.stdin.buffer);"
        "print(type(data['dataset']).__getitem__.__code__.co_filename,"
        " data['collate_fn'].__code__.co_filename)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input=bundle, capture_output=True, check=False
    )
    file = Numbers.__getitem__.__code__.co_filename
    assert done.stdout.decode() == f"{file} {file}\n", done.stderr.decode()
