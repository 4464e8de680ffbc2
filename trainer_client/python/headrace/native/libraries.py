"""The client's libraries whose version decides about bits."""

import sys

import torch

from .plan import Libraries


def libraries() -> Libraries:
    """Only what the program has imported itself counts; nothing is imported here."""
    pil = sys.modules.get("PIL")
    torchvision = sys.modules.get("torchvision")
    return Libraries(
        pillow=getattr(pil, "__version__", ""),
        torch=torch.__version__,
        torchvision=getattr(torchvision, "__version__", ""),
        cpu_capability=torch.backends.cpu.get_cpu_capability(),
    )
