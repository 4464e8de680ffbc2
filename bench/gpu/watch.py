"""What a GPU and a machine did during some steps: CUDA events, NVML, the profiler, /proc/stat."""

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Iterator

import torch

_NVML_SECONDS = 0.05  # between two looks


def machine_cpu_seconds() -> float:
    """That all processes of the machine have used, the kernel's part included."""
    with open("/proc/stat") as file:
        # user nice system idle iowait irq softirq steal; guests are in user and nice.
        fields = [int(word) for word in file.readline().split()[1:8]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


class Nvml:
    """Utilisation as nvidia-smi shows it: the share of NVML's last sample period with a kernel at
    work. Looked at by a thread of its own, between enter and exit. Without a GPU nothing."""

    def __init__(self, cuda: bool) -> None:
        self._cuda = cuda
        self._seen: list[int] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Nvml:
        if self._cuda:
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        while not self._ended.wait(_NVML_SECONDS):
            self._seen.append(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)

    def summary(self) -> dict | None:
        if not self._seen:
            return None
        return {"busy_share": statistics.fmean(self._seen) / 100, "looks": len(self._seen)}


class Device:
    """The GPU, or the CPU where there is none. One thread."""

    def __init__(self) -> None:
        self.cuda = torch.cuda.is_available()
        self.torch = torch.device("cuda" if self.cuda else "cpu")
        self.name = torch.cuda.get_device_name() if self.cuda else "cpu"
        self._marks: list[tuple[str, torch.cuda.Event]] = []

    def nvml(self) -> Nvml:
        return Nvml(self.cuda)

    def synchronize(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    @property
    def marks(self) -> int:
        """How many there are, for `shares` to begin at."""
        return len(self._marks)

    def mark(self, what: str) -> None:
        """ "got": the program has a batch; "copied": its copy, and "done": the step's last kernel, lie
        before this in the stream."""
        if self.cuda:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks.append((what, event))

    def shares(self, wall: float, batch_bytes: int, first: int = 0) -> dict:
        """From mark number `first`, which is a "done": how long the stream stood still between a step
        and the next batch, copied, and was at steps. For an idle device."""
        spent = {"got": 0.0, "copied": 0.0, "done": 0.0}
        copies = []
        marks = self._marks[first:]
        for (_, before), (what, event) in zip(marks, marks[1:], strict=False):
            seconds = before.elapsed_time(event) / 1000
            spent[what] += seconds
            if what == "copied":
                copies.append(seconds)
        if not copies:
            return {}
        return {
            "gpu_idle_s": spent["got"],
            "gpu_idle_share": spent["got"] / wall,
            "gpu_copy_share": spent["copied"] / wall,
            "gpu_step_share": spent["done"] / wall,
            "copy_gb_s": batch_bytes / statistics.median(copies) / 1e9,
            "batch_mb": batch_bytes / 1e6,
        }

    def profiled(self, step: Callable[[], int], steps: int) -> dict | None:
        """Some steps again under the profiler, which knows each kernel: what its times and the
        events say of the same steps."""
        if not self.cuda:
            return None
        from torch.profiler import ProfilerActivity, profile

        self.synchronize()
        with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
            step()
            self.synchronize()
            first = self.marks
            self.mark("done")
            for _ in range(steps):
                step()
            self.synchronize()
        wall = self._marks[first][1].elapsed_time(self._marks[-1][1]) / 1000
        seen = [
            (event.time_range.start, event.time_range.end)
            for event in profiler.events()
            if event.device_type == torch.autograd.DeviceType.CUDA
        ]
        # Of the last steps alone: those that end within `wall` of the last kernel's end.
        begin = max(end for _, end in seen) - wall * 1e6
        busy = sum(end - start for start, end in _joined(seen, begin)) / 1e6
        return {
            "steps": steps,
            "wall_s": wall,
            "kernels_idle_share": 1 - busy / wall,
            "events_idle_share": self.shares(wall, 0, first)["gpu_idle_share"],
        }


def _joined(spans: list[tuple[float, float]], begin: float) -> Iterator[tuple[float, float]]:
    """Spans without overlap that cover the same time after `begin`."""
    until = begin
    for start, end in sorted(spans):
        if end > until:
            yield max(start, until), end
            until = end
