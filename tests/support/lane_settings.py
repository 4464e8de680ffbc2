"""The settings of a lane of plain samples, one a batch."""

import os
from typing import Any

from headrace.stage.lane import LaneSettings


def settings(**changed: Any) -> LaneSettings:
    named = {
        "auto_collation": True,
        "iterable": False,
        "batch_size": 1,
        "persistent": False,
        "by_pil": (),
        "tells_state": False,
        "watched": None,
        "trainer": os.getpid(),
    }
    return LaneSettings(**(named | changed))
