"""Which programs, pools and faults go together."""

import os
import shutil

from chaos.records import Scenario

KILLS = (
    "a worker killed",
    "a worker killed",
    "workers killed one after the other",
    "all workers killed",
    "coordinator killed",
    "coordinator and all workers killed",
)
STOPS = ("a worker stopped", "all workers stopped", "coordinator stopped", "trainer stopped")
NETWORK = ("connections cut", "connections half open", "network parted", "network slow")
STAGE = (
    "stage host killed",
    "process that hosts are forked from killed",
    "interpreter of sessions killed",
    "stage host stopped",
)
JOURNAL = ("journal without room",)
TRAINER = ("trainer killed, program resumed",)

SCENARIOS = (
    Scenario("native, shared memory", "native", "shared", KILLS * 2 + STOPS + JOURNAL),
    Scenario("native, TCP", "native", "tcp", KILLS * 2 + STOPS + JOURNAL),
    Scenario("native, TCP through relays", "native", "relay", KILLS + NETWORK * 2),
    Scenario("native, plain headrace run", "native", "private", KILLS * 2 + STOPS),
    Scenario("code with state, shared memory", "lanes", "shared", KILLS * 2 + STOPS + JOURNAL),
    Scenario("code with state, plain headrace run", "lanes", "private", KILLS * 2 + STOPS),
    Scenario("streams that end one by one, shared memory", "streams", "shared", KILLS * 2 + STOPS),
    Scenario("code on other hosts", "code", "elsewhere", KILLS * 2 + STAGE * 2),
    Scenario("code, plain headrace run", "code", "private", KILLS * 2 + STOPS),
    Scenario("native, resumed", "native", "shared", TRAINER + KILLS[:1], resume=True),
    Scenario(
        "code, resumed",
        "code",
        "private",
        (*TRAINER, "lane killed, program resumed", "a worker killed"),
        resume=True,
    ),
)


def possible(scenario: Scenario) -> str:
    """Why not, in words; nothing where it is possible."""
    if scenario.transport == "elsewhere" and (os.geteuid() != 0 or not shutil.which("unshare")):
        return "needs root and unshare, of util-linux"
    return ""
