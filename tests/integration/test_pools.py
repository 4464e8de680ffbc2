"""A coordinator with two pools: one whose workers may be taken away, and one that stands in for it."""

import contextlib
import json
import os
import pathlib
import signal
import urllib.request

import pytest
from support.headrace_program import free_port, headrace
from support.pool_program import PoolHead, PoolProgram, large_photos, stock_sums


class Head(PoolHead):
    """Its pools are `spot` and `exec`; workers of both are processes of this host."""

    def __init__(self, folder, *words):
        self.port = free_port()
        super().__init__(
            folder, "--http", f"127.0.0.1:{self.port}", "--exec-command", "{program} {args}",
            "--pool", "exec:price=0.04", "--pool", "exec:name=spot,price=0.01,preemptible", *words,
        )  # fmt: skip

    def pools(self):
        """As the page has them: they may be a second old."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/status") as answer:
            return {pool["name"]: pool for pool in json.load(answer)["pool"]["pools"]}

    def running(self):
        """Workers that are ready, by their own word: of spot, of exec."""
        of_spot = [name for name in self.members() if "-spot." in name]
        return len(of_spot), len(self.members()) - len(of_spot)

    def pid(self, member):
        (pid,) = [one["pid"] for one in self.workers() if one["member"] == member]
        return pid

    def __exit__(self, *ended):
        """Without a stop command nobody ends a worker that was adopted: its process is no child of this
        coordinator."""
        super().__exit__(*ended)
        place = self.address.removeprefix("tcp://").replace(":", "-")
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().decode(errors="replace")
                if f"\0--pool-member\0headrace-{place}-" in words:
                    os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return large_photos(tmp_path_factory.mktemp("photos"))


def test_what_is_taken_away_comes_from_the_next_pool_and_nothing_is_lost(photos, tmp_path):
    with (
        Head(tmp_path, "--workers", "2") as head,
        PoolProgram(photos, tmp_path, head.address) as program,
    ):
        first, second = head.until_ready(2)
        assert head.running() == (2, 0), "the cheapest first, however they are named"
        program.step(0)
        program.wait_for_a_batch()

        # A notice: the worker leaves in order.
        os.kill(head.pid(first), signal.SIGTERM)
        head.until(lambda: head.running() == (1, 1), "one from the next pool")
        head.until(lambda: "pool spot: workers were taken away" in head.said(), "the reason")
        head.until(lambda: head.pools()["spot"]["state"] == "held", "that it is held")

        # No notice: its host is gone, say. The command starts it again some time.
        os.kill(head.pid(second), signal.SIGKILL)
        head.until(lambda: head.running()[1] == 2, "another one from the next pool")
        head.until(lambda: head.running() == (1, 1), "the dear one that is too much has left")

        # Each pool finds its own again. The next coordinator knows of no pre-emption, so workers move.
        before = set(head.members())
        head.kill()
        head.start()
        head.until(lambda: before <= set(head.members()), "adopted workers")
        head.until(lambda: all(pool["running"] for pool in head.pools().values()), "one of each")
        pools = head.pools()
        assert [pools[name]["core_price"] for name in ("spot", "exec")] == [0.01, 0.04]
        head.until(lambda: head.running() == (2, 0), "two of the cheap ones")
        (cheap,) = [member for member in before if "-spot." in member]
        assert cheap in head.members(), "the one that it found"

        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))


def test_a_part_is_kept_from_preemption_and_quotas_hold(tmp_path):
    words = "--workers", "4", "--on-demand-at-least", "1", "--pool", "exec:name=dear,price=1"
    with Head(tmp_path, *words) as head:
        head.until(lambda: head.running() == (3, 1), "three and one")
        assert list(head.pools()) == ["spot", "exec", "dear"], "the cheapest first"
        assert not [member for member in head.members() if "-dear." in member]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--pool", "exec", "--pool", "exec"], "two pools are called exec"),
        (["--pool", "exec:price=1", "--pool", "local"], "pool local has no price"),
        (["--pool", "slurm:partition"], "KEY=VALUE"),
        (["--pool", "slurm:parttion=x"], "no setting parttion"),
        (["--pool", "static", "--pool", "local"], "static starts no workers"),
        (["--pool", "slurm:preemptible", "--on-demand-at-least", "1"], "not pre-emptible"),
        (
            ["--pool", "slurm:name=a,cores=2", "--pool", "slurm:name=b,cores=4"],
            "workers of 4 cores, and a of 2",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(words, why):
    answer = headrace("coordinator", "--listen", "tcp://127.0.0.1:0", *words)
    assert answer.returncode != 0 and why in answer.stderr, answer.stderr


def test_a_file_of_settings_has_a_list_of_them(tmp_path):
    port = free_port()
    settings = tmp_path / "headrace.toml"
    settings.write_text(f"""
        [coordinator]
        pool = ["exec:name=spot,price=0.01,preemptible", "exec:price=0.04,most=2"]
        exec-command = "{{program}} {{args}}"
        http = "127.0.0.1:{port}"
        """)
    with PoolHead(tmp_path, HEADRACE_CONFIG=str(settings)):
        status = f"http://127.0.0.1:{port}/api/status"
        with urllib.request.urlopen(status) as answer:
            pools = json.load(answer)["pool"]["pools"]
    assert [(each["name"], each["core_price"], each["most"]) for each in pools] == [
        ("spot", 0.01, 0),
        ("exec", 0.04, 2),
    ]
