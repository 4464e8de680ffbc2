"""A value as a bundle has it."""

import io
import pickle
from typing import Any

import pytest
from headrace.capture.blame import blame
from headrace.capture.handles import Refused
from headrace.capture.pickler import Pickler


def dumped(value: Any) -> bytes:
    file = io.BytesIO()
    Pickler(file, {}).dump(value)
    return file.getvalue()


def made_again(value: Any) -> Any:
    content = dumped(value)
    assert content == dumped(value), "not the same bytes each time"
    return pickle.loads(content)


def reason(value: Any) -> str:
    """Why it is in no bundle: the same is said of an attribute that holds it."""
    with pytest.raises(Refused) as refused:
        dumped(value)
    assert blame({"held": value}, None, {}) == f"held {refused.value}"
    return str(refused.value)
