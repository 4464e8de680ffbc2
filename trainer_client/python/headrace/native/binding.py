"""The native client, loaded when it is first needed."""

from typing import Any


def __getattr__(name: str) -> Any:
    from .. import _client

    value = getattr(_client, name)
    globals()[name] = value
    return value
