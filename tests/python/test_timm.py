"""timm's code is known by its text; hooks that seed NumPy; operations that have no native form."""

import functools
import random
import sys
import types

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as TF
from headrace.capture import hooks
from headrace.capture.known_hooks import NUMPY_OF_WORKER
from headrace.capture.views.steps import steps_or_views
from headrace.native import timm_text
from headrace.native.intact import OF_TIMM, first_change
from headrace.native.plan import NotNative
from headrace.native.transforms import nodes_of
from torchvision import transforms as v1

pytest.importorskip("timm", reason="./dev test installs timm")
from timm.data import auto_augment, create_transform  # noqa: E402
from timm.data.loader import _worker_init  # noqa: E402
from timm.data.random_erasing import RandomErasing  # noqa: E402

RAND = "rand-m9-mstd0.5-inc1"


def test_the_installed_timm_is_known():
    assert timm_text.first_difference() == ""
    assert first_change(OF_TIMM) == ""
    for module, functions in timm_text._FUNCTIONS.items():
        space = vars(sys.modules[module])
        assert all(timm_text._function(space, path) for path in functions)


def test_a_function_with_another_default_or_of_other_globals_is_not_known(monkeypatch):
    monkeypatch.setattr(auto_augment.solarize_add, "__defaults__", (50,))
    assert "solarize_add" in timm_text.first_difference()
    monkeypatch.undo()
    own = auto_augment.invert
    copied = types.FunctionType(own.__code__, {**own.__globals__}, own.__name__)
    monkeypatch.setattr(auto_augment, "invert", copied)
    assert "invert" in timm_text.first_difference()


def test_an_older_release_lacks_what_no_node_stands_for(monkeypatch):
    monkeypatch.delattr(sys.modules["timm.data.transforms"], "MaybePILToTensor")
    assert timm_text.first_difference() == ""


def nodes_with(**changes):
    """Of RandAugment, whose first operation is changed so."""
    transform = create_transform(8, is_training=True, auto_augment=RAND)
    (rand,) = [step for step in transform.transforms if type(step) is auto_augment.RandAugment]
    for name, value in changes.items():
        setattr(rand if hasattr(rand, name) else rand.ops[0], name, value)
    return nodes_of(transform)


def test_a_node_says_what_it_draws_from():
    (node,) = [node for node in nodes_with() if node.op == "timm_augment"]
    assert node.args["generator"] == "python" and node.args["choices_from"] == "numpy"
    policy = create_transform(8, is_training=True, auto_augment="v0")
    (node,) = [node for node in nodes_of(policy) if node.op == "timm_augment"]
    assert node.args["generator"] == "python" and "choices_from" not in node.args


REFUSED = {
    "other settings for one": {"hparams": {"translate_const": 3}, "magnitude_std": 1.0},
    "a number of NumPy's": {"prob": np.float32(0.5)},
    "a number that is none": {"magnitude": float("nan")},
    "more arguments": {"kwargs": {"fillcolor": (1, 2, 3), "resample": 3, "thresh": 3}},
    "an attribute more": {"more": 3},
    "layers of another type": {"num_layers": 2.0},
    "a tuple of operations": {"ops": ()},
    "weights in a list": {"choice_weights": [1.0]},
    "weights of float32": {"choice_weights": np.full(15, 1 / 15, np.float32)},
    "weights that do not add up": {"choice_weights": np.full(15, 0.1)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_native_form(name):
    assert nodes_with()
    with pytest.raises(NotNative):
        nodes_with(**REFUSED[name])


@pytest.mark.parametrize("policy", ["3a", "augmix-m3"])
def test_policies_without_a_native_form(policy):
    transform = create_transform(8, is_training=True, auto_augment=policy)
    with pytest.raises(NotNative):
        nodes_of(transform)


def test_a_gray_picture_has_no_fill_of_three():
    """PIL raises there; the operator refuses it when it is compiled."""
    nodes = nodes_of(v1.Compose([*create_transform(8, True, auto_augment=RAND).transforms]))
    assert all(len(node.args["fill"]) == 3 for node in nodes if node.op == "timm_augment")


class Twice:
    """Uses the tensor that RandomErasing erases in."""

    def __init__(self):
        self.erase = RandomErasing(1.0, device="cpu")

    def __call__(self, image):
        tensor = TF.to_tensor(image)
        return tensor, self.erase(tensor)


def test_a_tensor_that_is_erased_in_may_be_used_nowhere_else():
    with pytest.raises(NotNative, match="a tensor that it uses elsewhere"):
        steps_or_views(Twice())


def recipe(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def of_nothing(worker_id):
    np.random.seed()


@pytest.mark.parametrize(
    "hook, seed",
    [
        (None, NUMPY_OF_WORKER),
        (recipe, 8),
        (of_nothing, -1),
        (functools.partial(_worker_init, worker_seeding="all"), (2**40 + 8) % (2**32 - 1)),
        (functools.partial(_worker_init, worker_seeding="part"), NUMPY_OF_WORKER),
    ],
)
def test_the_seed_of_numpy(hook, seed):
    assert hooks.numpy_seeding_of(hook)(2**40 + 5, 3) == seed
