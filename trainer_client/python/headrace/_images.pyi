"""The native operators for stage hosts (dataworker/stage_host/images)."""

import numpy as np

Args = dict[str, int | str | list[int]]

class Renderer:
    """Thread-safe. The versions decide about bits, as in a plan's libraries."""

    def __init__(self, pillow: str, torch: str, torchvision: str, cpu_capability: str) -> None: ...
    def render(self, file: bytes, nodes: list[tuple[str, Args]]) -> np.ndarray | None:
        """What the nodes make of an encoded image: uint8 [H, W, 3], or as their last one says.
        None: there is no native form of it, or the file is damaged. Without the GIL."""
