"""The native generator is torch's: every kind of draw, its state, and the DataLoader's lanes."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.operators import LIBRARIES, SEEDS, compile_chain, jpeg, native, noise, torch_exp_table
from torch.utils.data import DataLoader
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

seeds = st.integers(0, 2**64 - 1)
FUSED, TWICE = 0, 1
ROUNDING = TWICE if LIBRARIES["cpu_capability"] == "DEFAULT" else FUSED


def state_of(generator: torch.Generator) -> bytes:
    return generator.get_state().numpy().tobytes()


@given(seeds)
def test_seeding_gives_the_same_state(seed):
    assert native.Generator(seed).state() == state_of(torch.Generator().manual_seed(seed))


# Sequences of draws, so that each starts anywhere in the engine's block of 624.
draws = st.one_of(
    st.tuples(st.just("rand")),
    st.tuples(st.just("uniform"), st.floats(-10, 10, width=32), st.floats(0.015625, 10, width=32)),
    st.tuples(st.just("randint"), st.integers(-(2**31), 2**31), st.integers(1, 2**28 - 1)),
    st.tuples(st.just("randint"), st.integers(-(2**31), 2**31), st.integers(2**28, 2**62)),
    st.tuples(st.just("randperm"), st.integers(0, 1000)),
    st.tuples(
        st.just("dirichlet"),
        st.one_of(st.just(1.0), st.floats(0.015625, 8, width=32)),
        st.integers(1, 16),
    ),
)


def draw_both(theirs: torch.Generator, ours: "native.Generator", draw: tuple) -> tuple:
    match draw:
        case ("rand",):
            return torch.rand(1, generator=theirs).item(), ours.rand()
        case ("uniform", low, width):
            want = torch.empty(1).uniform_(low, low + width, generator=theirs).item()
            return want, ours.uniform(low, low + width, ROUNDING)
        case ("randint", low, width):
            want = torch.randint(low, low + width, (1,), generator=theirs).item()
            return want, ours.randint(low, low + width)
        case ("randperm", n):
            return torch.randperm(n, generator=theirs).tolist(), ours.randperm(n)
        case ("dirichlet", alpha, n):
            weights = torch._sample_dirichlet(torch.full((n,), alpha).expand(1, -1), theirs)
            return weights[0].tolist(), ours.dirichlet(alpha, n)
    raise AssertionError(draw)


@given(seeds, st.lists(draws, max_size=30))
def test_draws_are_torchs(seed, sequence):
    theirs, ours = torch.Generator().manual_seed(seed), native.Generator(seed)
    for draw in sequence:
        want, got = draw_both(theirs, ours, draw)
        assert got == want, draw
    assert ours.state() == state_of(theirs)


@given(seeds, st.lists(draws, max_size=12))
def test_a_position_is_the_whole_state(seed, sequence):
    ours = native.Generator(seed)
    for draw in sequence:
        draw_both(torch.Generator(), ours, draw)
        assert ours.resumable()
        assert native.Generator.at(seed, ours.position()).state() == ours.state()


def test_a_normal_number_that_is_kept_for_long_has_no_position():
    ours = native.Generator(3)
    ours.dirichlet(1.0, 1)
    assert ours.position() != ours.draws()
    ours.discard(30_000)
    assert native.Generator.at(3, ours.position()).state() == ours.state()
    ours.discard(3000)
    assert not ours.resumable()


def test_many_dirichlets():
    theirs, ours = torch.Generator().manual_seed(11), native.Generator(11)
    for i in range(20_000):
        alpha = (0.1, 0.2, 0.5, 1.0, 1.0, 2.0)[i % 6]
        weights = torch._sample_dirichlet(torch.full((1, 2 + i % 2), alpha), theirs)[0]
        assert weights.tolist() == ours.dirichlet(alpha, 2 + i % 2), (i, alpha)


@given(seeds, st.floats(-(2.0**20), 2.0**20, width=32), st.integers(1, 6))
def test_uniform_between_neighbours(seed, low, steps):
    """Where rounding meets the upper bound, torch takes the lower one."""
    high = np.float32(low)
    for _ in range(steps):
        high = np.nextafter(high, np.float32(np.inf))
    torch.manual_seed(seed % 2**63)
    ours = native.Generator(seed % 2**63)
    want = [torch.empty(1).uniform_(low, float(high)).item() for _ in range(20)]
    assert [ours.uniform(low, float(high), ROUNDING) for _ in range(20)] == want


def test_long_streams():
    torch.manual_seed(5)
    ours = native.Generator(5)
    low, high = float(np.float32(0.08)), 1.0
    # One call of n numbers takes the vectorised kernel: compare with single draws, as transforms do.
    want = [torch.empty(1).uniform_(0.08, 1.0).item() for _ in range(20000)]
    assert [ours.uniform(low, high, ROUNDING) for _ in range(20000)] == want


@given(seeds, st.integers(0, 2000))
def test_state_round_trip_both_ways(seed, skip):
    theirs, ours = torch.Generator().manual_seed(seed), native.Generator(seed)
    ours.discard(skip)
    theirs.set_state(torch.frombuffer(bytearray(ours.state()), dtype=torch.uint8))
    assert torch.rand(1, generator=theirs).item() == ours.rand()
    back = native.Generator(0)
    back.set_state(state_of(theirs))
    assert back.state() == state_of(theirs)
    assert back.randint(0, 1000) == torch.randint(0, 1000, (1,), generator=theirs).item()


def test_state_keeps_the_cached_normal_sample():
    theirs = torch.Generator().manual_seed(1)
    torch.randn(3, generator=theirs)
    ours = native.Generator(0)
    ours.set_state(state_of(theirs))
    assert ours.state() == state_of(theirs)


def test_exp_table_makes_torch_exp():
    low, high = torch.log(torch.tensor((3 / 4, 4 / 3))).tolist()
    table = torch_exp_table([(low, high, ROUNDING)])
    count = int(np.frombuffer(table, np.uint32, 4)[3])
    head = 16 + 12
    inputs = np.frombuffer(table, np.float32, count, head)
    outputs = np.frombuffer(table, np.float32, count, head + 4 * count)
    assert (torch.exp(torch.from_numpy(inputs.copy())).numpy() == outputs).all()
    # Singly, as the transforms call it.
    for x in inputs[:: max(1, count // 2000)]:
        at = np.searchsorted(inputs, x)
        assert torch.exp(torch.tensor([x])).item() == outputs[at]


def test_lanes_are_those_of_a_stock_dataloader(tmp_path):
    """Two workers of an ordinary DataLoader, against one native stream for each."""
    sizes = [(20 + 3 * i, 50 - 2 * i) for i in range(14)]
    for i, (height, width) in enumerate(sizes):
        folder = tmp_path / f"class{i % 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"{i:02}.jpg").write_bytes(jpeg(noise(height, width, 3, i)))
    transform = v1.Compose(
        [
            v1.RandomResizedCrop(16),
            v1.RandomHorizontalFlip(),
            v1.ColorJitter(0.2, 0.2, 0.2, 0.1),
            v1.ToTensor(),
            v1.RandomErasing(),
        ]
    )
    nodes = [
        ("decode", {}),
        ("random_resized_crop", {"size": 16}),
        ("random_horizontal_flip", {}),
        ("color_jitter", {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1}),
        ("to_tensor", {}),
        ("random_erasing", {}),
    ]
    dataset = ImageFolder(str(tmp_path), transform)
    generator = torch.Generator().manual_seed(99)
    loader = DataLoader(dataset, batch_size=3, num_workers=2, generator=generator)
    # What DataLoader's iterator draws first from its generator.
    base = torch.empty((), dtype=torch.int64)
    base = base.random_(generator=torch.Generator().manual_seed(99)).item()
    chain = compile_chain(nodes)
    lanes = [base, base + 1]
    taken = [0, 0]
    batches = list(loader)
    assert len(batches) == 5
    for number, (images, _) in enumerate(batches):
        lane = number % 2
        for position, image in enumerate(images):
            path, _ = dataset.samples[number * 3 + position]
            with open(path, "rb") as file:
                got, drawn = chain.run(file.read(), lanes[lane], taken[lane])
            assert got.tobytes() == image.numpy().tobytes(), (number, position)
            taken[lane] += drawn
    assert SEEDS > 0
