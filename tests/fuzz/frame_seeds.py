"""Writes the frozen frames of the stage protocol into a folder, as the first inputs of stage_frames_fuzz.

python tests/fuzz/frame_seeds.py FOLDER
"""

import sys
from pathlib import Path

FROZEN = Path(__file__).parents[2] / "dataworker/stage/golden_frames.txt"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line.split() for line in FROZEN.read_text().splitlines() if not line.startswith("#")]
    frames = {name: bytes.fromhex(frame) for name, _, frame, *_ in lines}
    for name, frame in frames.items():
        (folder / name).write_bytes(frame)
    (folder / "all").write_bytes(b"".join(frames.values()))


if __name__ == "__main__":
    main()
