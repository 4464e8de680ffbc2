"""What several contracts need."""

from collections.abc import Iterator

import pytest
from support.headrace_program import coordinator, free_address, wait_for_answer


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a coordinator without workers."""
    address = free_address()
    with coordinator("--listen", address, "--heartbeat-ms", "100"):
        wait_for_answer(address)
        yield address
