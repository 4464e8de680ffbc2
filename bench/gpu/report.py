"""Writes bench/report/gpu.{md,json} from the lines that gpu.py has measured."""

from __future__ import annotations

import json
import pathlib
from collections import defaultdict

import harness

# Column -> (where it is in a model's window, factor, digits)
COLUMNS = {
    "images/s": ("images_s", 1, 0),
    "program in `next()`, %": ("next_share", 100, 0),
    "GPU still while it waits for a batch, %": ("gpu_idle_share", 100, 0),
    "GPU busy by NVML, %": ("nvml", 100, 0),
    "CPU s per 1,000 images, whole machine": ("cpu_s_per_1000", 1, 2),
    "of the training process": ("trainer_cpu_s_per_1000", 1, 2),
}


def write(files: list[pathlib.Path]) -> None:
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    first = next(line for line in lines if "machine" in line)
    machine, photos = first["machine"], first["photos"]
    runs = [line for line in lines if "run" in line and "failed" not in line["run"]]
    failed = [line for line in lines if "failed" in line.get("run", {})]
    device = next((run["run"]["device"] for run in runs), "unknown")
    text = [
        "# Training on a GPU",
        "",
        "Command: `python bench/gpu/gpu.py`, and `--render` of what it measured "
        "([how](../README.md#on-a-gpu)).",
        "",
        f"Machine: {device}; {machine['cpu']}, {machine['cpus']} CPUs; Python {machine['python']}, "
        f"torch {machine['torch']}, torchvision {machine['torchvision']}, Pillow {machine['PIL']}.",
        "",
        f"Data: {photos['files']} photographs, {photos['mean_kb']:.0f} kB on average. Batches of 256, "
        "bf16 autocast, channels_last, pinned, copied without blocking.",
        "",
        "Median [least, greatest] of the runs; ways alternate. What it says: [reports](README.md#on-a-gpu).",
        "",
        *windows(runs),
        *pinned([line for line in lines if "pinned" in line]),
        *meters(runs),
    ]
    if failed:
        text += [f"{len(failed)} runs failed: see gpu.json.", ""]
    (harness.REPORTS / "gpu.md").write_text("\n".join(text).rstrip() + "\n")
    (harness.REPORTS / "gpu.json").write_text(
        json.dumps({"machine": machine, "photos": photos, "lines": lines}, indent=1) + "\n"
    )
    print("\n".join(text))


def value_of(window: dict, name: str) -> float | None:
    value = window.get(name)
    return value["busy_share"] if isinstance(value, dict) else value


def windows(runs: list[dict]) -> list[str]:
    by_way: dict[tuple, list[dict]] = defaultdict(list)
    for line in runs:
        for model, window in line["run"]["models"].items():
            by_way[model, line["way"], _options(line["options"])].append(window)
    text = [
        "| model | loader | runs | " + " | ".join(COLUMNS) + " |",
        "|---|---|---|" + "---|" * len(COLUMNS),
    ]
    for (model, way, options), found in sorted(by_way.items()):
        cells = []
        for name, factor, digits in COLUMNS.values():
            values = [value_of(window, name) for window in found]
            known = [value * factor for value in values if value is not None]
            cells.append(harness.show(harness.spread(known), digits) if known else "")
        named = f"{way}, {options}" if options else way
        text.append(f"| {model} | {named} | {len(found)} | " + " | ".join(cells) + " |")
    return [*text, ""]


def _options(options: list[str]) -> str:
    """Those that change what is trained on, not how long."""
    words = dict(zip(options[::2], options[1::2], strict=False))
    return words.get("--transforms", "")


def pinned(lines: list[dict]) -> list[str]:
    text = []
    for line in lines:
        seen = line["pinned"]
        if "failed" in seen:
            continue
        memfd = seen["registered_memfd"]
        text.append(
            f"| {line['way']} | {'all' if all(seen['pinned']) else 'not all'} "
            f"| {seen['copy_gb_s']:.1f} | {seen['copy_torch_pinned_gb_s']:.1f} "
            f"| {memfd['copy_gb_s']:.1f} | {seen['copy_pageable_gb_s']:.1f} "
            f"| {seen['pin_ms']:.1f} with {seen['threads']} threads, "
            f"{seen['pin_one_thread_ms']:.1f} with one |"
        )
    if not text:
        return []
    return [
        f"A batch of {seen['batch_mb']:.0f} MB to the GPU, GB/s, and pinning it (torch's own, on an "
        "idle machine):",
        "",
        "| loader | its tensors pinned | its batch | torch's pinned memory | a registered memfd "
        "| pageable | `pin_memory()`, ms |",
        "|---|---|---|---|---|---|---|",
        *text,
        "",
    ]


def meters(runs: list[dict]) -> list[str]:
    """What Headrace's report says beside what the program saw by itself."""
    text = []
    for line in runs:
        told, seen = line["run"].get("report"), line["run"].get("all", {})
        if told and told["idle_seconds"] is not None and seen.get("gpu_idle_s") is not None:
            text.append(
                f"| {line['way']} | {told['stall_seconds']:.2f} | {seen['next_s']:.2f} "
                f"| {told['idle_seconds']:.2f} | {seen['gpu_idle_s']:.2f} |"
            )
    if text:
        text = [
            "What `headrace run --report` says of a whole run, and what the program saw, seconds:",
            "",
            "| loader | `stall_seconds` | in `next()` | `idle_seconds` | events of the program |",
            "|---|---|---|---|---|",
            *text,
            "",
        ]
    kernels = [
        f"| {line['way']} | {model} | {100 * seen['events_idle_share']:.0f} "
        f"| {100 * seen['kernels_idle_share']:.0f} |"
        for line in runs
        for model, window in line["run"]["models"].items()
        if (seen := window.get("profiled"))
    ]
    if kernels:
        text += [
            "The same steps under the profiler, % of the time: the GPU still between a step and the "
            "next batch (events), and without any kernel or copy (the profiler's):",
            "",
            "| loader | model | events | profiler |",
            "|---|---|---|---|",
            *kernels,
            "",
        ]
    return text
