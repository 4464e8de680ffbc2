"""The native client, loaded when it is first needed."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._client import (  # noqa: F401
        Blob,
        Client,
        UnsupportedError,
        build_torch_exp,
        check_plan,
        encode_file_table,
    )


def __getattr__(name: str) -> Any:
    from . import _client

    value = getattr(_client, name)
    globals()[name] = value
    return value
