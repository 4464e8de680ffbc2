"""Writes outside of Python's code: threads, shared memory, files, arrays, tensors."""

import array
import asyncio
import ctypes
import io
import multiprocessing
import os
import queue
import random
import sqlite3
import tempfile
import threading
import time
import weakref

import numpy as np
import torch

from .base import Rows


class Weak(Rows):
    def __getitem__(self, i):
        weakref.ref(self)().log.append(i)
        return len(self.log)


class WeakDict(Rows):
    def __init__(self):
        super().__init__()
        self.weak = weakref.WeakValueDictionary()
        self.things = [Slots2() for _ in range(40)]

    def __getitem__(self, i):
        self.weak[len(self.weak)] = self.things[len(self.weak)]
        return len(self.weak)


class Slots2:
    pass


class ThreadWrites(Rows):
    def __getitem__(self, i):
        thread = threading.Thread(target=self.log.append, args=(i,))
        thread.start()
        thread.join()
        return len(self.log)


class ThreadLocal(Rows):
    local = threading.local()

    def __getitem__(self, i):
        self.local.n = getattr(self.local, "n", 0) + 1
        return self.local.n


class Async(Rows):
    async def step(self):
        self.n += 1

    def __getitem__(self, i):
        asyncio.run(self.step())
        return self.n


class Queue(Rows):
    queue = queue.Queue()

    def __getitem__(self, i):
        self.queue.put(i)
        return self.queue.qsize()


class SharedValue(Rows):
    value = multiprocessing.Value("i", 0)

    def __getitem__(self, i):
        self.value.value += 1
        return self.value.value


class CTypes(Rows):
    value = ctypes.c_int(0)

    def __getitem__(self, i):
        self.value.value += 1
        return self.value.value


class CArray(Rows):
    held = array.array("i", [0])

    def __getitem__(self, i):
        self.held[0] += 1
        return self.held[0]


class ByteArray(Rows):
    held = bytearray(1)

    def __getitem__(self, i):
        self.held[0] = (self.held[0] + 1) % 256
        return self.held[0]


class MemoryView(Rows):
    held = bytearray(1)

    def __getitem__(self, i):
        view = memoryview(self.held)
        view[0] = (view[0] + 1) % 256
        return self.held[0]


class HeldFile(Rows):
    file = io.StringIO("".join(f"line {k}\n" for k in range(1000)))

    def __getitem__(self, i):
        return self.file.readline()


class WritesFile(Rows):
    def __init__(self):
        super().__init__()
        self.path = tempfile.mktemp()

    def __getitem__(self, i):
        with open(self.path, "a") as file:
            file.write("x")
        return os.path.getsize(self.path)


class Database(Rows):
    base = sqlite3.connect(":memory:")

    def __getitem__(self, i):
        self.base.execute("create table if not exists t (x)")
        self.base.execute("insert into t values (1)")
        return self.base.execute("select count(*) from t").fetchone()[0]


class Environment(Rows):
    def __getitem__(self, i):
        os.environ["HR_CASE"] = os.environ.get("HR_CASE", "") + "x"
        return len(os.environ["HR_CASE"])


class Clock(Rows):
    def __getitem__(self, i):
        return time.perf_counter_ns()


class SystemNumbers(Rows):
    def __getitem__(self, i):
        return os.urandom(8)


class SystemRandom(Rows):
    def __getitem__(self, i):
        return random.SystemRandom().random()


class UnseededNumpy(Rows):
    def __getitem__(self, i):
        return np.random.default_rng().random()


GENERATOR = random.Random(1)


class SharedGenerator(Rows):
    def __getitem__(self, i):
        return GENERATOR.random()


class ArrayItem(Rows):
    def __getitem__(self, i):
        self.array[0] += 1
        return self.array[0]


class ArrayInPlace(Rows):
    def __getitem__(self, i):
        a = self.array
        a += 1
        return a.sum()


class ArrayView(Rows):
    def __getitem__(self, i):
        part = self.array[1:]
        part[0] += 1
        return self.array.sum()


class ArrayReshaped(Rows):
    def __getitem__(self, i):
        self.array.reshape(2, 2)[0, 0] += 1
        return self.array.sum()


class ArrayTransposed(Rows):
    def __getitem__(self, i):
        self.array.T[0] += 1
        return self.array.sum()


class ArrayAsArray(Rows):
    def __getitem__(self, i):
        np.asarray(self.array)[0] += 1
        return self.array.sum()


class ArrayOut(Rows):
    def __getitem__(self, i):
        np.add(self.array, 1, out=self.array)
        return self.array.sum()


class ArrayOutByPosition(Rows):
    def __getitem__(self, i):
        np.add(self.array, 1, self.array)
        return self.array.sum()


class ArraySumOut(Rows):
    def __getitem__(self, i):
        before = self.array.copy()
        np.cumsum(self.array + 1, 0, None, self.array)
        return before.sum()


class ArrayAt(Rows):
    def __getitem__(self, i):
        np.add.at(self.array, [0], 1)
        return self.array.sum()


class ArrayFill(Rows):
    def __getitem__(self, i):
        before = self.array.sum()
        self.array.fill(i)
        return before


class ArrayCopyTo(Rows):
    def __getitem__(self, i):
        np.copyto(self.array, self.array + 1)
        return self.array.sum()


class ArrayShuffle(Rows):
    def __init__(self):
        super().__init__()
        self.array = np.arange(50)

    def __getitem__(self, i):
        np.random.shuffle(self.array)
        return self.array.tolist()


class ListShuffle(Rows):
    def __getitem__(self, i):
        random.shuffle(self.rows)
        return self.rows[0]


class ArrayFlat(Rows):
    def __getitem__(self, i):
        self.array.flat[0] = self.array[0] + 1
        return self.array.sum()


class ArrayOfObjects(Rows):
    held = np.array([[], [1]], dtype=object)

    def __getitem__(self, i):
        self.held[0].append(i)
        return len(self.held[0])


class TensorInPlace(Rows):
    def __getitem__(self, i):
        self.tensor.add_(1)
        return self.tensor.sum()


class TensorItem(Rows):
    def __getitem__(self, i):
        self.tensor[0] = self.tensor[0] + 1
        return self.tensor.sum().item()


class TensorData(Rows):
    def __getitem__(self, i):
        self.tensor.data += 1
        return self.tensor.sum().item()


class TensorNumpy(Rows):
    def __getitem__(self, i):
        self.tensor.numpy()[0] += 1
        return self.tensor.sum().item()


class TensorFromNumpy(Rows):
    def __getitem__(self, i):
        torch.from_numpy(self.array).add_(1)
        return self.array.sum()


class TensorResize(Rows):
    def __getitem__(self, i):
        self.tensor.resize_(len(self.tensor) + 1)
        return len(self.tensor)


class TensorOut(Rows):
    def __getitem__(self, i):
        torch.add(self.tensor, 1, out=self.tensor)
        return self.tensor.sum().item()


class TensorView(Rows):
    def __getitem__(self, i):
        self.tensor.view(2, 2)[0].mul_(2).add_(1)
        return self.tensor.sum().item()


class TensorUnbind(Rows):
    def __getitem__(self, i):
        for part in self.tensor:
            part += 1
        return self.tensor.sum().item()


class TensorTo(Rows):
    def __getitem__(self, i):
        self.tensor.float().contiguous().add_(1)
        return self.tensor.sum().item()


class TensorInplaceFlag(Rows):
    def __getitem__(self, i):
        self.tensor -= 1
        torch.nn.functional.relu(self.tensor, inplace=True)
        self.array += 1
        return self.array.sum()


class RunningMean(Rows):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(1)

    def __getitem__(self, i):
        self.norm(torch.tensor([[float(i)], [3.0]]))
        return self.norm.running_mean.item()


class Hook(Rows):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Identity()
        self.layer.register_forward_hook(lambda m, x, y: self.log.append(1))

    def __getitem__(self, i):
        self.layer(self.tensor)
        return len(self.log)


class ToNumpyAlias(Rows):
    def __getitem__(self, i):
        x = np.expand_dims(self.array, 0)
        x[0, 0] += 1
        return self.array.sum()
