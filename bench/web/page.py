"""The page of a coordinator with 1,000 jobs and 10,000 workers, whose numbers all change each second: how long the
browser's frames and tasks are, how large what is sent is, and what it costs the server.

    .venv/bin/python bench/web/page.py --server build/release/bin/page_cluster

It needs Debian's chromium. The cluster is made up by bench/web/page_cluster.cc, served by the real server and
page: the CPU that is told leaves out what the coordinator takes to describe itself
(cluster_planner_bench, Describe).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness
from support.browser import Page, chromium

TICKS = os.sysconf("SC_CLK_TCK")
# Frames of the screen and tasks above 50 ms, from here on.
WATCH = """(() => {
  window.seen = { frames: [], tasks: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.seen.tasks.push(entry.duration);
  }).observe({ entryTypes: ["longtask"] });
  let last = performance.now();
  const step = (now) => {
    window.seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})()"""
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextlib.contextmanager
def cluster(server: str, jobs: int, workers: int):
    command = [server, str(jobs), str(workers)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield f"http://{process.stdout.readline().strip()}", process.pid
        process.stdin.close()


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main_thread_seconds(page: Page) -> float:
    """CPU time of the main threads of the browser's renderers: what a page's script, style and layout take."""
    ticks = 0
    for process in page.browser.call("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            stat = pathlib.Path(f"/proc/{process['id']}/task/{process['id']}/stat")
            fields = stat.read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


class Listener(threading.Thread):
    """Reads events, and notes how long each is."""

    def __init__(self, url: str):
        super().__init__(daemon=True)
        self.answer = OPENER.open(url + "/api/events", timeout=60)
        self.sizes: list[tuple[bool, int]] = []
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for line in self.answer:
                if line.startswith(b"data: "):
                    self.sizes.append((b'"whole":true' in line[:60], len(line)))


def server_cost(url: str, pid: int, listeners: int, seconds: float) -> dict:
    """CPU of the server, in cores, with so many listeners."""
    open_ones = [Listener(url) for _ in range(listeners)]
    time.sleep(5)
    began, before = time.monotonic(), cpu_seconds(pid)
    counted = [len(each.sizes) for each in open_ones]
    time.sleep(seconds)
    cores = (cpu_seconds(pid) - before) / (time.monotonic() - began)
    frames = [len(each.sizes) - n for each, n in zip(open_ones, counted, strict=True)]
    sizes = open_ones[0].sizes if open_ones else []
    for each in open_ones:
        each.answer.fp.raw._sock.shutdown(socket.SHUT_RDWR)  # the thread reads there
        each.join()
    time.sleep(3)  # the server hears of it with the next frame
    return {
        "cores": cores,
        "frames_a_second": min(frames) / seconds if frames else 0,
        "whole_bytes": statistics.median([n for whole, n in sizes if whole] or [0]),
        "change_bytes": statistics.median([n for whole, n in sizes if not whole] or [0]),
    }


def browser_times(page: Page, seconds: float, act=None) -> dict:
    """Frames and long tasks while the page lives, and somebody types and turns pages."""
    page.run("window.seen.frames.length = window.seen.tasks.length = 0")
    began, before, acts = time.monotonic(), main_thread_seconds(page), 0
    while time.monotonic() - began < seconds:
        if act:
            act()
            acts += 1
        time.sleep(0.5)
    used, took = main_thread_seconds(page) - before, time.monotonic() - began
    seen = page.run("({ frames: [...window.seen.frames], tasks: [...window.seen.tasks] })")
    frames = sorted(seen["frames"])
    return {
        "main_thread_cores": used / took,
        "acts_a_second": acts / took,
        "frames": len(frames),
        "p50_ms": statistics.median(frames),
        "p99_ms": frames[int(0.99 * (len(frames) - 1))],
        "most_ms": frames[-1],
        "above_50_ms": sum(each > 50 for each in frames),
        "long_tasks": len(seen["tasks"]),
        "longest_task_ms": max(seen["tasks"], default=0),
    }


def typing(page: Page):
    words = iter(["n", "no", "nod", "node1", "node12", "", "9"] * 1000)

    def act() -> None:
        word = next(words)
        page.run(
            "((field) => { field.value = " + json.dumps(word) + ";"
            " field.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))"
        )

    return act


def turning(page: Page):
    def act() -> None:
        page.run("[...document.querySelectorAll('.pager button')].at(-1).click()")

    return act


def measure(args: argparse.Namespace) -> dict:
    found: dict = {"jobs": args.jobs, "workers": args.workers}
    with cluster(args.server, args.jobs, args.workers) as (url, pid):
        found["listeners"] = {n: server_cost(url, pid, n, args.seconds) for n in (0, 1, 4, 12)}
        began = time.perf_counter()
        with OPENER.open(url + "/api/status", timeout=60) as answer:
            found["status_bytes"] = len(answer.read())
        found["status_seconds"] = time.perf_counter() - began
        time.sleep(2)
        with chromium() as browser:
            page = browser.page()
            began = time.perf_counter()
            page.open(url)
            page.wait("document.querySelector('tbody tr')")
            found["first_rows_seconds"] = time.perf_counter() - began
            page.run(WATCH)
            views = {}
            for view in ("jobs", "workers", "jobs/7"):
                page.run(f"location.hash = '{view}'")
                time.sleep(3)
                views[view] = {"at rest": browser_times(page, args.seconds)}
                if "/" not in view:
                    views[view]["typing"] = browser_times(page, args.seconds, typing(page))
                    page.run("document.querySelector('[type=search]').value = ''")
                    page.run(
                        "document.querySelector('[type=search]').dispatchEvent(new Event('input'))"
                    )
                    views[view]["turning pages"] = browser_times(page, args.seconds, turning(page))
            found["views"] = views
            metrics = {
                m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]
            }
            found["heap_bytes"] = metrics["JSHeapUsedSize"]
            found["errors"] = page.errors
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="build/release/bin/page_cluster")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=15)
    args = parser.parse_args()
    found = measure(args)
    mb = 1e6
    rows = []
    for n, cost in found["listeners"].items():
        rows.append((f"CPU of the server, {n} listeners", f"{100 * cost['cores']:.1f}% of a core"))
    cost = found["listeners"][12]
    rows += [
        ("frames a second, 12 listeners", f"{cost['frames_a_second']:.2f}"),
        ("a whole frame", f"{cost['whole_bytes'] / mb:.2f} MB"),
        ("**a change, each second**", f"{cost['change_bytes'] / mb:.2f} MB"),
        (
            "`/api/status`",
            f"{found['status_bytes'] / mb:.1f} MB in {found['status_seconds']:.2f} s",
        ),
        ("opened to the first rows", f"{found['first_rows_seconds']:.2f} s"),
        ("the page's heap", f"{found['heap_bytes'] / mb:.0f} MB"),
    ]
    for view, kinds in found["views"].items():
        rest = kinds["at rest"]["main_thread_cores"]
        for kind, t in kinds.items():
            text = f"{100 * t['main_thread_cores']:.0f}% of a core"
            if t["acts_a_second"] > 0:
                each = 1000 * (t["main_thread_cores"] - rest) / t["acts_a_second"]
                text += f"; {each:.0f} ms more for each key or page"
            rows.append((f"CPU of the page's main thread, `#{view}`, {kind}", text))
    for view, kinds in found["views"].items():
        for kind, t in kinds.items():
            rows.append(
                (
                    f"`#{view}`, {kind}",
                    f"frames {t['p50_ms']:.1f} ms, p99 {t['p99_ms']:.1f}, most {t['most_ms']:.1f}; "
                    f"{t['long_tasks']} tasks above 50 ms, longest {t['longest_task_ms']:.0f}",
                )
            )
    title = f"The page with {args.jobs:,} jobs and {args.workers:,} workers"
    note = (
        f"Each line of frames is {args.seconds:.0f} s. Frames are those of the screen in headless "
        "Chromium, which draws on the CPU, and tasks are by the wall clock: both grow with what else "
        f"the machine does. Its load was {os.getloadavg()[0]:.0f}."
    )
    harness.write_report("page", title, rows, found, note)


if __name__ == "__main__":
    main()
