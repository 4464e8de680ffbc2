"""Contract: generators. The program's own random numbers never move, and lanes draw theirs."""

import pytest
import torch
from headrace.loader.seam import state_of
from support.compare import check
from support.pipelines import Numbers, seed_other_generators, seed_torch, train_v1
from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler, WeightedRandomSampler
from torchvision import datasets


def test_own_generator(photos):
    data = datasets.ImageFolder(photos, train_v1())

    def make(loader):
        generator = torch.Generator().manual_seed(42)
        return loader(data, batch_size=4, shuffle=True, num_workers=2, generator=generator)

    check(make, epochs=3)


def test_generator_stands_where_the_stock_loader_leaves_it(photos, seam):
    data = datasets.ImageFolder(photos, train_v1())
    states = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(42)
        list(DataLoader(data, 4, shuffle=True, num_workers=2, generator=generator))
        states.append(generator.get_state())
        import headrace

        headrace.uninstall()
    assert torch.equal(*states)


@pytest.mark.parametrize(
    "sampler",
    [
        lambda data: RandomSampler(data, replacement=True, num_samples=15),
        lambda data: SubsetRandomSampler(range(0, 20, 2)),
        lambda data: WeightedRandomSampler([1.0, 2.0, 3.0] * 9, 12),
        lambda data: RandomSampler(data, generator=torch.Generator().manual_seed(5)),
    ],
    ids=["replacement", "subset", "weighted", "own-generator"],
)
@pytest.mark.parametrize("num_workers", [1, 2])
def test_samplers_that_draw(photos, sampler, num_workers):
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, 4, sampler=sampler(data), num_workers=num_workers))


def test_program_without_workers_keeps_its_stream(photos):
    from support.pipelines import evaluate_v1

    data = datasets.ImageFolder(photos, evaluate_v1())
    check(lambda loader: loader(data, batch_size=4, shuffle=True))


def test_sample_mode_gives_each_key_its_own_seed(photos, seam):
    """The same samples for any number of workers, also for none."""
    import headrace

    data = datasets.ImageFolder(photos, train_v1())
    runs = []
    for num_workers in (0, 1, 2):
        torch.manual_seed(5)
        loader = headrace.DataLoader(data, 4, num_workers=num_workers, rng="sample")
        runs.append(torch.cat([batch[0] for batch in loader]))
    assert torch.equal(runs[0], runs[1]) and torch.equal(runs[0], runs[2])
    torch.manual_seed(6)
    other = torch.cat([batch[0] for batch in headrace.DataLoader(data, 4, rng="sample")])
    assert not torch.equal(runs[0], other)


def test_every_generator_of_user_code():
    check(lambda loader: loader(Numbers(), batch_size=3, num_workers=2), path="python")


def test_worker_init_fn_that_seeds_other_generators_is_harmless(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(
        lambda loader: loader(data, 4, num_workers=2, worker_init_fn=seed_other_generators),
        path="native",
    )


def test_hook_of_a_loader_without_workers_is_never_called(photos):
    from support.pipelines import evaluate_v1

    data = datasets.ImageFolder(photos, evaluate_v1())
    check(lambda loader: loader(data, 4, shuffle=True, worker_init_fn=seed_torch), path="native")


@pytest.mark.parametrize("persistent", [False, True])
def test_worker_init_fn_that_seeds_torch(photos, persistent):
    data = datasets.ImageFolder(photos, train_v1())
    check(
        lambda loader: loader(
            data, 4, num_workers=2, worker_init_fn=seed_torch, persistent_workers=persistent
        ),
        path="python",
    )


def test_admission_leaves_no_trace(photos, seam):
    """Neither in random numbers nor in the dataset."""
    data = datasets.ImageFolder(photos, train_v1())
    before = {name: repr(value) for name, value in vars(data).items()}
    torch.manual_seed(3)
    expected = torch.Generator().manual_seed(3)
    torch.empty((), dtype=torch.int64).random_(generator=expected)  # the base seed
    loader = DataLoader(data, 4, num_workers=1)
    iter(loader)
    assert state_of(loader).report.path == "native"
    assert torch.equal(torch.get_rng_state(), expected.get_state())
    assert before == {name: repr(value) for name, value in vars(data).items()}
