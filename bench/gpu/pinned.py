"""Whether a loader's batches lie in pinned memory, how fast the GPU copies them, and what pinning costs.

    python bench/gpu/pinned.py DATA
    headrace run python bench/gpu/pinned.py DATA

Beside the loader's own batches: the same bytes in pageable memory, in torch's pinned memory, and in a
memfd that CUDA was told of (cudaHostRegister). Prints one JSON line; times are medians, GB/s of the
bytes of a batch. Needs a GPU.
"""

import argparse
import json
import mmap
import os
import statistics
import time
from collections.abc import Callable

import torch
import train


def gb_s(images: torch.Tensor, times: int = 8) -> float:
    """Of the copy to the device, by CUDA events."""
    target = torch.empty(images.shape, dtype=images.dtype, device="cuda")
    seconds = []
    for _ in range(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        target.copy_(images, non_blocking=True)
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) / 1000)
    return images.nbytes / statistics.median(seconds) / 1e9


def milliseconds(work: Callable[[], object], times: int = 8) -> float:
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return 1000 * statistics.median(seconds)


def registered(images: torch.Tensor) -> dict:
    """A memfd of the batch's size, as the batches of workers lie in, made known to CUDA."""
    fd = os.memfd_create("registered")
    os.ftruncate(fd, images.nbytes)
    memory = mmap.mmap(fd, images.nbytes)
    tensor = torch.frombuffer(memory, dtype=images.dtype).view(images.shape)
    tensor.copy_(images)
    cudart = torch.cuda.cudart()
    begun = time.perf_counter()
    error = cudart.cudaHostRegister(tensor.data_ptr(), images.nbytes, 0)
    took = 1000 * (time.perf_counter() - begun)
    result = {
        "error": int(error),
        "register_ms": took,
        "is_pinned": tensor.is_pinned(),
        "copy_gb_s": gb_s(tensor),
    }
    begun = time.perf_counter()
    cudart.cudaHostUnregister(tensor.data_ptr())
    return result | {"unregister_ms": 1000 * (time.perf_counter() - begun)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--num-workers", type=int, default=16)
    parser.add_argument("--transforms", choices=["pil", "v2", "uint8"], default="pil")
    args = parser.parse_args()
    args.size, args.seed, args.no_pin = 224, 0, False

    torch.zeros(1, device="cuda")
    batches = iter(train.make_loader(args))
    taken = [next(batches) for _ in range(4)]
    images = taken[-1][0]
    del batches  # the workers end: nobody else uses the cores
    time.sleep(1)
    pageable = torch.empty(images.shape, dtype=images.dtype).copy_(images)
    result = {
        "batch_mb": images.nbytes / 1e6,
        "pinned": [tensor.is_pinned() for batch in taken for tensor in batch],
        "copy_gb_s": gb_s(images),
        "copy_pageable_gb_s": gb_s(pageable),
        "copy_torch_pinned_gb_s": gb_s(pageable.pin_memory()),
        "registered_memfd": registered(images),
        "threads": torch.get_num_threads(),
        "pin_ms": milliseconds(pageable.pin_memory),
    }
    torch.set_num_threads(1)
    result["pin_one_thread_ms"] = milliseconds(pageable.pin_memory)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
