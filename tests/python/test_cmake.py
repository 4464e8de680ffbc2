"""What CMake says to somebody who builds by hand."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_all_missing_packages_are_named_at_once(tmp_path):
    missing = ["-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_JPEG=ON"]
    configure = ["cmake", "-S", ROOT, "-B", tmp_path]
    done = subprocess.run([*configure, *missing], capture_output=True, text=True)
    assert done.returncode != 0
    assert "apt-get install --no-install-recommends libtbb-dev libjpeg62-turbo-dev\n" in done.stderr
    assert done.stderr.count("CMake Error") == 1, done.stderr
