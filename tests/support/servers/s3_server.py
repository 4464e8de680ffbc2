"""What the servers that speak S3 have in common, and the hand that fills them: boto3, in a process of its
own. What it imports runs at each fork, and no test's program should have that."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.headrace_program import clean_environment
from support.object_server import BUCKET


def content(size: int, seed: int = 0) -> bytes:
    """What the hand writes."""
    block = bytes((i * 31 + seed * 7 + (i >> 8)) & 255 for i in range(4096))
    return (block * (size // 4096 + 1))[:size]


@dataclass
class S3Server:
    endpoint: str  # "http://127.0.0.1:port"
    key_id: str
    secret: str
    region: str = "us-east-1"
    hand: "Hand" = field(init=False)

    @property
    def authority(self) -> str:
        return self.endpoint.partition("://")[2]

    @property
    def endpoint_by_name(self) -> str:
        """For buckets in the host's name: libcurl knows that all below localhost is this host."""
        return f"http://localhost:{self.authority.rpartition(':')[2]}"

    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.key_id, "AWS_SECRET_ACCESS_KEY": self.secret}


class Hand:
    """Writes objects, by lines of JSON to a process."""

    def __init__(self, server: S3Server) -> None:
        words = [server.endpoint, server.key_id, server.secret, server.region, BUCKET]
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("hand.py")), *words],
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, what: str, **how: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, how]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the hand has ended"}')
        assert "error" not in answer, answer["error"]
        return answer["answer"]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def filled(server: S3Server) -> Iterator[S3Server]:
    """With a bucket and a hand."""
    hand = Hand(server)
    server.hand = hand
    try:
        hand("make_bucket")
        yield server
    finally:
        hand.close()
