"""What a program changes in installed libraries, and classes and functions of a script that are hard to
send by name."""

import collections
import colorsys
import copyreg
import importlib
import json
import math
import random
import statistics
import sys
import types
import typing

import cv2
import numpy as np
import torch
from cases import case, looked, main


@case(hosts=2, always=True)
def numpy_errors_raise():
    np.seterr(all="raise")
    looked(lambda i: np.float32(1) / np.float32(i - 3), batch_size=1)


@case(hosts=2)
def numpy_print_options():
    np.set_printoptions(precision=2, suppress=True, threshold=4)
    looked(lambda i: str(np.linspace(0, i, 9)))


@case()
def numpy_error_callback():
    seen = []
    np.seterrcall(lambda kind, flag: seen.append(kind))
    np.seterr(divide="call")
    looked(lambda i: (np.ones(2) / np.zeros(2)).sum() and str(seen))


@case()
def numpy_buffer_size():
    np.setbufsize(16384)
    looked(lambda i: np.getbufsize())


@case(hosts=2)
def opencv_settings():
    cv2.setNumThreads(3)
    cv2.setUseOptimized(False)
    looked(lambda i: str((cv2.getNumThreads(), cv2.useOptimized())))


@case()
def opencv_generator():
    cv2.setRNGSeed(77)

    def look(i):
        noise = np.zeros((2, 2), np.uint8)
        cv2.randu(noise, 0, 255)
        return noise

    looked(look, 2)


@case(workers=2, hosts=2)
def function_of_an_installed_module_replaced():
    plain = math.sqrt
    math.sqrt = lambda x: plain(x) + 1000
    looked(lambda i: math.sqrt(i))


@case()
def function_replaced_by_one_of_another_library():
    json.loads = torch.as_tensor
    looked(lambda i: json.loads([i, i]))


@case(always=True)
def function_wrapped_between_epochs():
    plain = colorsys.rgb_to_hsv

    def before(epoch):
        colorsys.rgb_to_hsv = lambda r, g, b: (*plain(r, g, b), epoch)

    looked(lambda i: str(colorsys.rgb_to_hsv(i, 1, 2)), 3, before=before)


@case(hosts=2)
def attribute_put_on_an_installed_module():
    np.of_this_program = 5
    looked(lambda i: np.of_this_program + i)


@case(hosts=2)
def attribute_put_on_an_installed_class():
    statistics.NormalDist.factor = 3
    looked(lambda i: statistics.NormalDist.factor * i)


@case()
def class_of_an_installed_module_replaced():
    class Own(collections.OrderedDict):
        def total(self):
            return sum(self.values()) + 100

    collections.Counter = Own
    looked(lambda i: collections.Counter(a=i).total())


@case()
def constant_of_an_installed_module_changed():
    math.pi = 3
    looked(lambda i: math.pi * i)


@case(hosts=2)
def registry_of_an_installed_module():
    """As resolvers of configurations and builders of models are registered."""
    copyreg.of_this_program = {}
    copyreg.of_this_program["twice"] = lambda x: 2 * x
    looked(lambda i: copyreg.of_this_program["twice"](i))


class Table:
    """Its constructor leaves something on the class, which no unpickling does."""

    values: typing.ClassVar[dict] = {}

    def __init__(self):
        type(self).values["filled"] = 9


@case(always=True)
def constructor_that_fills_its_class():
    table = Table()
    looked(lambda i: table.values.get("filled", "empty"))


@case()
def constructor_that_fills_an_installed_class():
    random.Random.filled = 9
    own = random.Random(3)
    looked(lambda i: str((getattr(own, "filled", "empty"), own.random())))


@case()
def lazy_module_that_cannot_be_imported():
    class Lazy(types.ModuleType):
        def __getattr__(self, name):
            raise ImportError(f"an optional dependency is missing ({name})")

    sys.modules["of_this_program_lazy"] = Lazy("of_this_program_lazy")
    looked(lambda i: i * 2)


@case()
def module_edited_and_loaded_again():
    importlib.reload(colorsys)
    colorsys.ONE_THIRD = 0.5
    looked(lambda i: colorsys.ONE_THIRD * i)


if __name__ == "__main__":
    main()
