"""The data worker's side of the protocol that stage hosts speak."""

import json
import mmap
import os
import pickle
import socket
import struct
import subprocess
import sys

import cloudpickle
import torch
from headrace.process.modules import tail
from headrace.stage import wire
from headrace.stage.pickling import unpickle_batch
from torch.utils.data import default_collate

from .batch_request import packed_request, send_request
from .headrace_program import HEADRACE

SLOT = 1 << 20


class Base:
    """An interpreter that zygotes are forked from."""

    def __init__(
        self, version=None, sys_path=None, before="", packages=(), hash_seed="", confined=None
    ):
        """`before`: code that it runs first, as its site might; `hash_seed`: the trainer's; `confined`:
        words for what a worker starts before it; without them it starts as it is."""
        self.control, theirs = socket.socketpair()
        code = f"{before}\nfrom headrace.stage import host\nhost.main()"
        command = [sys.executable, "-c", code]
        if confined is not None:
            command = [HEADRACE, "stage-process", *confined, "--", *command]
        fd = theirs.fileno()
        as_three = f"import os, sys; os.dup2({fd}, 3); os.execv(sys.argv[1], sys.argv[1:])"
        self.process = subprocess.Popen(
            [sys.executable, "-c", as_three, *command, "3"], pass_fds=[fd]
        )
        theirs.close()
        self.control.settimeout(120)
        settings = {
            "version": version or f"{sys.version_info[0]}.{sys.version_info[1]}",
            "sys_path": sys_path or sys.path,
            "working_directory": os.getcwd(),
            "packages": {"torch": torch.__version__, **dict(packages)},
            "hash_seed": hash_seed,
        }
        wire.send(self.control, wire.PREPARE, json.dumps(settings).encode())

    def begin(self, number, bundle, sock, door=None, **settings):
        """What became of it, after the ends of other sessions. `door`: a descriptor that it is given."""
        own = json.dumps({"alone": False, **settings})
        parts = struct.pack("<Q", number), own.encode()
        more = [] if door is None else [door]
        send(self.control, wire.SESSION, *parts, fds=[sock.detach(), memory(bundle), *more])
        while (message := self.receive())[0] == wire.ENDED:
            pass
        return message

    def receive(self):
        kind, (number, *more), _ = wire.receive(self.control)
        return kind, int.from_bytes(number, "little"), *more

    def close(self):
        self.control.close()
        self.process.wait(60)


class Stage:
    """A zygote with its hosts. The classes of `user_module` travel by value, as a program's do."""

    def __init__(
        self,
        user_module,
        version=None,
        base=None,
        modules=(),
        content=b"",
        door=None,
        **bundle,
    ):
        """`content`: of a bundle, which is otherwise made of `bundle`'s entries."""
        parts = {
            "dataset": None,
            "fills": False,
            "environ": {},
            "group": None,
            "collate_fn": default_collate,
            "worker_init_fn": None,
            "auto_collation": True,
            "drop_last": False,
            "num_workers": 2,
            **bundle,
        }
        self.hosts = []
        if not content:
            cloudpickle.register_pickle_by_value(user_module)
            try:
                content = dump(parts) + tail(modules)
            finally:
                cloudpickle.unregister_pickle_by_value(user_module)
        self.own_base = None if base else Base(version)
        self.control, theirs = socket.socketpair()
        self.control.settimeout(120)
        begun = (base or self.own_base).begin(1, content, theirs, door)
        assert begun[:2] in ((wire.FORKED, 1), (wire.BECAME, 1))
        self.forked = begun[0] == wire.FORKED
        self.pid = int.from_bytes(begun[2], "little") if self.forked else None
        kind, (problem,), _ = wire.receive(self.control)
        assert kind == wire.READY
        self.problem = problem.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.control.close()
        for host in self.hosts:
            host.close()
        if self.own_base:
            self.own_base.close()

    def host(self, arena=None):
        ours, theirs = socket.socketpair()
        ours.settimeout(120)
        send(self.control, wire.FORK, struct.pack("<Q", 7), fds=[theirs.detach()])
        kind, parts, _ = wire.receive(self.control)
        assert kind == wire.FORKED and parts[0] == struct.pack("<Q", 7)
        self.hosts.append(HostEnd(ours, arena))
        return self.hosts[-1]


class HostEnd:
    def __init__(self, sock, arena=None):
        self.sock = sock
        self.arena = arena or Arena()
        socket.send_fds(sock, [wire.encode(wire.ARENA)], [self.arena.fd])

    def close(self):
        self.sock.close()
        os.close(self.arena.fd)

    def ask(self, keys, lane=0, base_seed=1, state=b"", seeds=(), offset=4096, size=SLOT):
        batch = {"state": state, "seeds": seeds, "iteration": 1, "batch": 1}
        request = packed_request(keys, size, lane, base_seed, offset, **batch)
        send_request(self.sock, request, wire.numbers(5))
        kind, parts, _ = wire.receive(self.sock)
        assert kind == wire.DONE and parts[0] == struct.pack("<Q", 5)
        return Answer(self.arena, offset, parts)


class Answer:
    def __init__(self, arena, offset, parts):
        (self.outcome,) = struct.unpack("<Q", parts[1])
        (self.needed,) = struct.unpack("<Q", parts[2])
        self.pickle, self.state, self.error = parts[3], parts[6], parts[7]
        self.output, self.error_output = parts[8], parts[9]
        (self.samples,) = struct.unpack("<Q", parts[11])
        self.change = parts[13].decode()
        offsets = struct.unpack(f"<{len(parts[4]) // 8}Q", parts[4])
        sizes = struct.unpack(f"<{len(parts[5]) // 8}Q", parts[5])
        self.sizes = sizes
        self.buffers = [
            arena.view[offset + begin : offset + begin + size]
            for begin, size in zip(offsets, sizes, strict=True)
        ]

    def value(self):
        assert self.outcome == wire.MADE, pickle.loads(self.error).exc_msg
        return unpickle_batch(self.pickle, self.buffers)


class Arena:
    def __init__(self, size=2 * SLOT):
        self.fd = os.memfd_create("arena")
        os.ftruncate(self.fd, size)
        self.view = memoryview(mmap.mmap(self.fd, size))


def send(sock, kind, *parts, fds):
    """Gives the descriptors away."""
    socket.send_fds(sock, [wire.encode(kind, *parts)], fds)
    for fd in fds:
        os.close(fd)


def memory(data):
    fd = os.memfd_create("test")
    os.write(fd, data)
    return fd


def dump(parts):
    return cloudpickle.dumps(parts, protocol=5)
