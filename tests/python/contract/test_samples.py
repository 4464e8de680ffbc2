"""Contract: order, and the samples themselves, bit for bit as the stock loader makes them."""

import pytest
import torch
from support.compare import batches, check
from support.pipelines import (
    EVERY,
    OF_TENSORS,
    chain_on_tensors,
    chain_with,
    evaluate_tensors,
    evaluate_v1,
    reference_on_tensors,
    train_tensors,
    train_v1,
    train_v2,
)
from support.torch_bits import needs_vectors, with_products
from torch.utils.data import ConcatDataset, Subset, TensorDataset
from torchvision import datasets
from torchvision import transforms as v1

# On tensors they multiply matrices, of which torch's bits are not known on every CPU.
OF_PRODUCTS = {
    "aug_mix",
    "auto_augment",
    "rand_augment",
    "random_affine",
    "random_rotation",
    "trivial_augment_wide",
}
POLICIES = ["ra", "ta_wide", "augmix", "imagenet"]  # of the reference preset, likewise


@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_two_shuffled_epochs(photos, num_workers, persistent):
    data = datasets.ImageFolder(photos, train_v1())
    check(
        lambda loader: loader(
            data,
            batch_size=4,
            shuffle=True,
            num_workers=num_workers,
            persistent_workers=persistent,
        )
    )


def test_v2_transforms(photos):
    data = datasets.ImageFolder(photos, train_v2())
    check(lambda loader: loader(data, batch_size=5, shuffle=True, num_workers=2))


@needs_vectors
@pytest.mark.parametrize("api", [1, 2], ids=["v1", "v2"])
def test_transforms_of_tensors(photos, api):
    data = datasets.ImageFolder(photos, train_tensors(api))
    check(lambda loader: loader(data, batch_size=5, shuffle=True, num_workers=2))


@needs_vectors
@pytest.mark.parametrize("num_workers", [0, 2])
def test_validation_by_tensors(photos, num_workers):
    data = datasets.ImageFolder(photos, evaluate_tensors())
    check(lambda loader: loader(data, batch_size=5, num_workers=num_workers))


@needs_vectors
def test_column_of_a_tensor(photos):
    """The operator leaves it to torch, which takes rows for columns there."""
    data = datasets.ImageFolder(photos, v1.Compose([v1.PILToTensor(), v1.Resize((5, 1))]))
    check(lambda loader: loader(data, batch_size=5, num_workers=2), path="python", epochs=1)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_nothing_random(photos, num_workers):
    data = datasets.ImageFolder(photos, evaluate_v1())
    check(lambda loader: loader(data, batch_size=5, num_workers=num_workers))


@pytest.mark.parametrize("api", [0, 1], ids=["v1", "v2"])
@pytest.mark.parametrize("op", with_products(EVERY, {"aug_mix"}))
def test_every_transform(photos, op, api):
    data = datasets.ImageFolder(photos, chain_with(op, api))
    check(lambda loader: loader(data, batch_size=7, shuffle=True, num_workers=1), epochs=1)


@needs_vectors
@pytest.mark.parametrize("api", [0, 1], ids=["v1", "v2"])
@pytest.mark.parametrize("op", with_products(sorted(OF_TENSORS), OF_PRODUCTS))
def test_every_transform_of_tensors(photos, op, api):
    data = datasets.ImageFolder(photos, chain_on_tensors(op, api))
    check(lambda loader: loader(data, batch_size=7, shuffle=True, num_workers=1), epochs=1)


@needs_vectors
@pytest.mark.parametrize("api", [0, 1], ids=["v1", "v2"])
@pytest.mark.parametrize("policy", [*with_products(POLICIES, POLICIES), "jitter"])
def test_reference_preset_on_tensors(photos, policy, api):
    data = datasets.ImageFolder(photos, reference_on_tensors(policy, api))
    check(lambda loader: loader(data, batch_size=7, shuffle=True, num_workers=2))


def test_drop_last(photos):
    data = datasets.ImageFolder(photos, train_v1())
    seen = check(
        lambda loader: loader(data, batch_size=4, shuffle=True, drop_last=True, num_workers=2)
    )
    assert len(batches(seen)) == 2 * (27 // 4)


def test_large_prefetch_factor(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, batch_size=2, num_workers=2, prefetch_factor=8))


def test_batches_are_in_sampler_order(photos):
    data = datasets.ImageFolder(photos, evaluate_v1())
    order = [(key * 7) % 27 for key in range(27)]
    seen = check(lambda loader: loader(data, batch_size=2, sampler=order, num_workers=2), epochs=1)
    labels = torch.cat([batch[1] for batch in batches(seen)])
    assert labels.tolist() == [data.targets[key] for key in order]


def test_in_order_false_delivers_every_sample_once(photos, seam):
    data = datasets.ImageFolder(photos, evaluate_v1())
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=2, in_order=False)
    labels = torch.cat([batch[1] for batch in loader])
    assert sorted(labels.tolist()) == sorted(data.targets)


def test_subset_and_random_split(photos):
    data = datasets.ImageFolder(photos, train_v1())
    part, _ = torch.utils.data.random_split(
        data, [20, 7], generator=torch.Generator().manual_seed(3)
    )
    check(lambda loader: loader(part, batch_size=3, shuffle=True, num_workers=2))
    nested = Subset(part, [-1, 3, 3, 0])
    check(lambda loader: loader(nested, batch_size=3, num_workers=2))


def test_concat_dataset(photos, own_photos):
    transform = train_v1()
    data = ConcatDataset(
        [
            datasets.ImageFolder(photos, transform),
            Subset(datasets.ImageFolder(own_photos, transform), [5, 1, 9]),
        ]
    )
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=2))


def test_cifar10(cifar_root, monkeypatch):
    transform = v1.Compose([v1.RandomCrop(32, padding=4), v1.RandomHorizontalFlip(), v1.ToTensor()])
    with monkeypatch.context() as patch:  # the files have no checksums
        patch.setattr(datasets.CIFAR10, "_check_integrity", lambda self: True)
        patch.setattr(datasets.cifar, "check_integrity", lambda *args: True)
        data = datasets.CIFAR10(cifar_root, transform=transform)
    check(lambda loader: loader(data, batch_size=8, shuffle=True, num_workers=2))


def test_mnist(mnist_root):
    transform = v1.Compose([v1.ToTensor(), v1.Normalize((0.1307,), (0.3081,))])
    data = datasets.MNIST(mnist_root, transform=transform)
    check(lambda loader: loader(data, batch_size=8, shuffle=True, num_workers=2))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_tensor_dataset(num_workers):
    rows = torch.arange(60, dtype=torch.float64).reshape(20, 3)
    data = TensorDataset(rows, torch.arange(20), rows.to(torch.bfloat16), rows[:, 0] > 9)
    named = {"batch_size": 3, "shuffle": True, "num_workers": num_workers}
    check(lambda loader: loader(data, **named), path="native" if num_workers else "local")


def test_single_samples(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, batch_size=None, num_workers=2), path="python")


def test_negative_keys(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, batch_size=2, sampler=[-1, 3, -27, 5], num_workers=1))
