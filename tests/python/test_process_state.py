"""Code on another host finds the process as the trainer's is, or stays on the trainer's host."""

import csv
import decimal
import gc
import locale
import logging
import mimetypes
import os
import resource
import socket
import sys
import tempfile
import time
import warnings

import numpy as np
import pytest
import torch
import torch.utils.flop_counter
from headrace.capture import Local
from headrace.capture.process_state import collect
from headrace.stage import process_state
from headrace.stage.settings import SETTINGS
from support.other_interpreter import Elsewhere
from support.own_process import in_own_process
from torch.utils.data import Dataset


class Mine(UserWarning):
    pass


def flushed():
    return (torch.tensor([5e-324], dtype=torch.float64) * 1).item() == 0


def set_umask(mask):
    before = os.umask(mask)
    os.umask(before)
    return before


def use_deterministic():
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False


def change_environment():
    os.environ.update(MY_FLAG="3", TZ="Asia/Tokyo", PATH=os.environ["PATH"] + ":/mine")
    os.environ.pop("TAKEN_AWAY")
    time.tzset()


def pil(name):
    import PIL.GifImagePlugin
    import PIL.Image
    import PIL.ImageFile
    import PIL.PngImagePlugin
    import PIL.TiffImagePlugin

    return getattr(PIL, name)


def vision():
    import torchvision.tv_tensors

    return torchvision


def cv2():
    import cv2

    return cv2


# What a program changes, and what its code then reads.
CHANGES = {
    "environment": (
        change_environment,
        lambda: [os.environ.get(n) for n in ("MY_FLAG", "TZ", "PATH", "TAKEN_AWAY")],
    ),
    "time zone": (lambda: None, lambda: time.localtime(0).tm_hour),
    "sys.argv": (lambda: sys.argv.append("--mine"), lambda: sys.argv),
    "main file": (
        lambda: setattr(sys.modules["__main__"], "__file__", "/mine/train.py"),
        lambda: getattr(sys.modules["__main__"], "__file__", None),
    ),
    "umask": (lambda: os.umask(0o027), lambda: set_umask(0)),
    "locale": (
        lambda: locale.setlocale(locale.LC_ALL, "C"),
        lambda: locale.setlocale(locale.LC_ALL),
    ),
    "recursion": (lambda: sys.setrecursionlimit(4321), sys.getrecursionlimit),
    "digits": (lambda: sys.set_int_max_str_digits(9999), sys.get_int_max_str_digits),
    "switch interval": (lambda: sys.setswitchinterval(0.25), sys.getswitchinterval),
    "open files": (
        lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2
        ),
        lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    ),
    "collector": (
        lambda: (gc.disable(), gc.set_threshold(9, 8, 7)),
        lambda: (gc.isenabled(), gc.get_threshold()),
    ),
    "tempdir": (lambda: setattr(tempfile, "tempdir", "/proc"), lambda: tempfile.tempdir),
    "decimal": (
        lambda: decimal.setcontext(decimal.Context(prec=5, traps=[decimal.Inexact])),
        lambda: repr(decimal.getcontext()),
    ),
    "csv": (lambda: csv.field_size_limit(77), csv.field_size_limit),
    "socket": (lambda: socket.setdefaulttimeout(7), socket.getdefaulttimeout),
    "loggers": (
        lambda: (logging.getLogger("mine").setLevel(17), logging.getLogger().setLevel(5)),
        lambda: (logging.getLogger("mine").level, logging.getLogger().level),
    ),
    "types of files": (
        lambda: mimetypes.add_type("image/mine", ".mine"),
        lambda: mimetypes.guess_type("a.mine"),
    ),
    "dtype": (lambda: torch.set_default_dtype(torch.float64), lambda: str(torch.rand(2).dtype)),
    "grad": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "deterministic": (
        use_deterministic,
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        ),
    ),
    "denormal": (lambda: torch.set_flush_denormal(True), flushed),
    "autocast": (
        lambda: torch.set_autocast_enabled("cpu", True),
        lambda: torch.is_autocast_enabled("cpu"),
    ),
    "precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        torch.get_float32_matmul_precision,
    ),
    "oneDNN": (
        lambda: setattr(torch.backends.mkldnn, "enabled", False),
        lambda: torch.backends.mkldnn.enabled,
    ),
    "anomaly": (
        lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
    ),
    "warn always": (lambda: torch.set_warn_always(True), torch.is_warn_always_enabled),
    "torch prints": (lambda: torch.set_printoptions(precision=2), lambda: str(torch.tensor(1 / 3))),
    "hub": (lambda: torch.hub.set_dir("/mine/hub"), lambda: torch.hub.get_dir()),
    "numpy errors": (lambda: np.seterr(all="raise"), np.geterr),
    "numpy call": (
        lambda: np.seterrcall(called),
        lambda: getattr(np.geterrcall(), "__name__", None),
    ),
    "numpy buffer": (lambda: np.setbufsize(16384), np.getbufsize),
    "numpy prints": (lambda: np.set_printoptions(precision=2), lambda: str(np.array([1 / 3]))),
    "cv2 optimized": (lambda: cv2().setUseOptimized(False), lambda: cv2().useOptimized()),
    "cv2 threads": (lambda: cv2().setNumThreads(3), lambda: cv2().getNumThreads()),
    "image size": (
        lambda: setattr(pil("Image"), "MAX_IMAGE_PIXELS", 10**6),
        lambda: pil("Image").MAX_IMAGE_PIXELS,
    ),
    "formats": (
        lambda: setattr(pil("Image"), "WARN_POSSIBLE_FORMATS", True),
        lambda: pil("Image").WARN_POSSIBLE_FORMATS,
    ),
    "truncated": (
        lambda: setattr(pil("ImageFile"), "LOAD_TRUNCATED_IMAGES", True),
        lambda: pil("ImageFile").LOAD_TRUNCATED_IMAGES,
    ),
    "block": (
        lambda: setattr(pil("ImageFile"), "MAXBLOCK", 1 << 20),
        lambda: pil("ImageFile").MAXBLOCK,
    ),
    "safe block": (
        lambda: setattr(pil("ImageFile"), "SAFEBLOCK", 1 << 21),
        lambda: pil("ImageFile").SAFEBLOCK,
    ),
    "PNG text": (
        lambda: (
            setattr(pil("PngImagePlugin"), "MAX_TEXT_CHUNK", 5),
            setattr(pil("PngImagePlugin"), "MAX_TEXT_MEMORY", 6),
        ),
        lambda: (pil("PngImagePlugin").MAX_TEXT_CHUNK, pil("PngImagePlugin").MAX_TEXT_MEMORY),
    ),
    "GIF": (
        lambda: setattr(
            pil("GifImagePlugin"),
            "LOADING_STRATEGY",
            pil("GifImagePlugin").LoadingStrategy.RGB_ALWAYS,
        ),
        lambda: repr(pil("GifImagePlugin").LOADING_STRATEGY),
    ),
    "TIFF": (
        lambda: setattr(pil("TiffImagePlugin"), "READ_LIBTIFF", True),
        lambda: pil("TiffImagePlugin").READ_LIBTIFF,
    ),
    "image backend": (
        lambda: setattr(vision(), "_image_backend", "accimage"),
        lambda: vision().get_image_backend(),
    ),
    "video backend": (
        lambda: setattr(vision(), "_video_backend", "mine"),
        lambda: vision()._video_backend,
    ),
    "tv_tensors": (
        lambda: vision().tv_tensors.set_return_type("TVTensor"),
        lambda: vision().tv_tensors._torch_function_helpers._TORCHFUNCTION_SUBCLASS,
    ),
    # After the others, which warn.
    "warnings": (
        lambda: warnings.filterwarnings("ignore", "quiet.*", Mine),
        lambda: [(f[0], f[1].pattern, f[2].__name__) for f in warnings.filters if f[1]][:1],
    ),
}


def called(kind, flag):
    pass


class Reads(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return {name: repr(read()) for name, (_, read) in CHANGES.items()}


@in_own_process
def test_every_setting_is_the_trainers():
    os.environ["HEADRACE_MINE"] = "the trainer's"
    os.environ["TAKEN_AWAY"] = "until it is changed"
    lower = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (lower, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    with Elsewhere() as place:
        before = Reads()[0]
        for change, _ in CHANGES.values():
            change()
        here = Reads()[0]
        unchanged = {name for name in here if here[name] == before[name]}
        assert not unchanged, unchanged
        there = place.samples(Reads())[0]
    other = {name: (here[name], there[name]) for name in here if there[name] != here[name]}
    assert not other, other
    # Each of them, less what this program has not loaded.
    missing = {setting.name for setting in SETTINGS} - process_state.read().keys()
    assert not missing, missing


class InMode(Dataset):
    def __getitem__(self, index):
        return torch.is_inference_mode_enabled(), torch.ones(1).is_inference()


@in_own_process
def test_inference_mode_around_the_loader():
    with Elsewhere() as place:
        with torch.inference_mode():
            assert place.samples(InMode()) == [(True, True)]
        assert place.samples(InMode()) == [(False, False)]


class Environment(Dataset):
    def __getitem__(self, index):
        return dict(os.environ)


@in_own_process
def test_what_of_the_environment_stays_the_workers():
    """The variables by which it finds its programs, and those about one process of ours."""
    own = {"HEADRACE_MINE": "worker", "LD_LIBRARY_PATH": "/worker", "ONLY_THERE": "1"}
    os.environ.update(own)
    with Elsewhere() as place:
        os.environ.update(HEADRACE_MINE="trainer")
        for name in ("LD_LIBRARY_PATH", "ONLY_THERE"):
            del os.environ[name]
        found = place.samples(Environment())[0]
    assert found["HEADRACE_MINE"] == "worker" and found["LD_LIBRARY_PATH"] == "/worker"
    assert "ONLY_THERE" not in found
    sent = collect()["environment"]
    assert "PATH" not in sent and "HOME" in sent and "HEADRACE_MINE" not in sent


class FromConstructor(Dataset):
    def __setstate__(self, state):
        self.seen = str(torch.get_default_dtype()), os.environ.get("MY_FLAG")
        torch.set_default_dtype(torch.float16)

    def __getstate__(self):
        return {"any": 1}

    def __getitem__(self, index):
        return *self.seen, str(torch.get_default_dtype())


@in_own_process
def test_constructors_and_imports_see_them_and_do_not_change_them():
    with Elsewhere() as place:
        torch.set_default_dtype(torch.float64)
        os.environ["MY_FLAG"] = "3"
        assert place.samples(FromConstructor()) == [("torch.float64", "3", "torch.float64")]


class Named(torch.overrides.TorchFunctionMode):
    pass


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (lambda: torch.device("meta"), "torch's default device is meta"),
        (Named, "a mode of torch's functions is open: Named"),
        (
            lambda: torch.utils.flop_counter.FlopCounterMode(display=False),
            "a mode of torch's operators is open: _FlopCounterMode",
        ),
    ],
)
def test_modes_of_torch_do_not_travel(mode, reason):
    with pytest.raises(Local, match=reason), mode():
        collect()


def test_a_default_device_of_cpu_changes_nothing():
    with torch.device("cpu"):
        collect()


def test_applying_it_where_it_comes_from_changes_nothing(monkeypatch):
    state = collect()
    written = []
    for name in ("set_default_dtype", "set_grad_enabled", "use_deterministic_algorithms"):
        monkeypatch.setattr(torch, name, lambda *a, **n: written.append(a))
    filters = list(warnings.filters)
    process_state.apply(state)
    assert not written and warnings.filters == filters and collect() == state


def test_what_a_worker_cannot_have_is_named():
    with pytest.raises(process_state.CannotApply, match="locale is 'xx_XX', which this worker"):
        process_state.apply({"locale": "xx_XX"})
