"""Servers that speak S3: one of each kind for all tests of a file."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.object_server import moto as bare_moto
from support.servers.radosgw import radosgw
from support.servers.s3_server import S3Server, filled
from support.servers.swift import swift


@contextmanager
def moto(folder: Path) -> Iterator[S3Server]:
    folder.mkdir()
    with bare_moto(folder, "none") as bucket:
        with filled(S3Server(bucket.endpoint, bucket.key_id, bucket.secret)) as server:
            yield server


KINDS = {"moto": moto, "radosgw": radosgw, "swift": swift}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], S3Server]]:
    """Each is started when it is first asked for."""
    open_servers: dict[str, S3Server] = {}
    with ExitStack() as stack:

        def server(kind: str) -> S3Server:
            if kind not in open_servers:
                folder = tmp_path_factory.mktemp("servers") / kind
                open_servers[kind] = stack.enter_context(KINDS[kind](folder))
            return open_servers[kind]

        yield server


@pytest.fixture
def server(request: pytest.FixtureRequest, servers: Callable[[str], S3Server]) -> S3Server:
    return servers(request.param)
