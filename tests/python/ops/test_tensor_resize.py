"""Resize and RandomResizedCrop of tensors equal torchvision's bit for bit, by way of capture."""

import pytest
import torch
from headrace.native import resizing
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.operators import SEEDS, check_file, compile_chain, jpeg, native, noise
from support.tensor_operators import check, images, nodes_for, refusal, sizes
from support.torch_bits import needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = needs_vectors

APIS = {1: v1, 2: v2}
BILINEAR, BICUBIC = InterpolationMode.BILINEAR, InterpolationMode.BICUBIC
NEAREST, EXACT = InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT
LANCZOS = InterpolationMode.LANCZOS
# What is native: API, mode, antialias.
WAYS = [
    *((2, mode, True) for mode in (BILINEAR, BILINEAR, BICUBIC, LANCZOS, NEAREST, EXACT)),
    *((2, mode, False) for mode in (BILINEAR, BICUBIC, NEAREST)),
    *((1, mode, True) for mode in (BILINEAR, BICUBIC, NEAREST, EXACT)),
    *((2, mode, None) for mode in (BILINEAR, EXACT)),
]

seeds = st.integers(0, SEEDS)
ways = st.sampled_from(WAYS)
conversions = st.sampled_from([v1.PILToTensor, v2.PILToTensor, v2.ToImage])


@examples(400)
@given(images(), sizes(), ways, conversions)
def test_resize(image, size, way, conversion):
    api, mode, antialias = way
    check([conversion(), APIS[api].Resize(size, mode, antialias=antialias)], image, 0)


@given(images(least=8), st.integers(2, 60), st.one_of(st.none(), st.integers(61, 80)), ways)
def test_shorter_edge(image, size, bound, way):
    api, mode, antialias = way
    transform = APIS[api].Resize(size, mode, max_size=bound, antialias=antialias)
    check([v2.ToImage(), transform], image, 0)


@examples(400)
@given(
    images(),
    sizes(),
    ways,
    conversions,
    st.sampled_from([(0.08, 1.0), (0.5, 0.6), (1.0, 1.0), (5.0, 6.0)]),
    st.sampled_from([(3 / 4, 4 / 3), (0.2, 5.0), (1.0, 1.0)]),
    seeds,
)
def test_random_resized_crop(image, size, way, conversion, scale, ratio, seed):
    api, mode, antialias = way
    transform = APIS[api].RandomResizedCrop(size, scale, ratio, mode, antialias=antialias)
    check([conversion(), transform], image, seed)


@examples(200)
@given(st.data(), images(least=12), ways, seeds)
def test_among_other_transforms(data, image, way, seed):
    """The transforms before it give torch's tensors other strides; a crop after it restricts the
    rest."""
    api, mode, antialias = way
    chosen = data.draw(
        st.lists(
            st.sampled_from(
                [
                    v2.RandomHorizontalFlip(),
                    v1.RandomVerticalFlip(),
                    v2.RandomCrop(10),
                    v1.CenterCrop(11),
                    v2.Pad(2),
                ]
            ),
            max_size=2,
        )
    )
    resize = APIS[api].Resize(data.draw(sizes(60)), mode, antialias=antialias)
    behind = [v2.CenterCrop(data.draw(st.integers(1, 20))), v1.RandomHorizontalFlip()]
    final = [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.25])]
    check([v2.ToImage(), *chosen, resize, *behind, *final], image, seed)


RECIPES = {
    "v2": lambda: [
        v2.ToImage(),
        v2.RandomResizedCrop(96, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ],
    "v1": lambda: [
        v1.PILToTensor(),
        v1.RandomResizedCrop(96, antialias=True),
        v1.RandomHorizontalFlip(),
        v1.ConvertImageDtype(torch.float32),
        v1.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ],
    "v2 of validation": lambda: [
        v2.PILToTensor(),
        v2.Resize(128, antialias=True),
        v2.CenterCrop(96),
        v2.ToDtype(torch.float32, scale=True),
    ],
}


@pytest.mark.parametrize("recipe", list(RECIPES))
@given(st.integers(20, 400), st.integers(20, 400), seeds)
def test_files(recipe, height, width, seed):
    transforms = RECIPES[recipe]()
    data = jpeg(noise(height, width, 3, seed % 999))
    check_file(nodes_for(*transforms), v1.Compose(transforms), data, seed)


@pytest.mark.parametrize("name", ["Resize", "RandomResizedCrop"])
def test_what_is_not_native_says_why(name):
    def of(api, mode, antialias, *first, **libraries):
        transform = getattr(APIS[api], name)(8, interpolation=mode, antialias=antialias)
        return refusal(*(first or [v2.ToImage()]), transform, **libraries)

    assert "number of torch's threads" in of(1, BILINEAR, False)
    assert "number of torch's threads" in of(1, BICUBIC, None)
    assert "interpolation lanczos has no" in of(1, LANCZOS, True)
    assert "interpolation lanczos without antialias" in of(2, LANCZOS, False)
    assert "interpolation box" in of(2, InterpolationMode.BOX, True)
    half = v2.ToDtype(torch.float16)
    assert "uint8 or float32 only" in of(2, BILINEAR, True, v2.ToImage(), half)
    assert 'capability "DEFAULT"' in of(2, BILINEAR, True, cpu_capability="DEFAULT")
    assert 'capability "NEON"' in of(1, NEAREST, True, cpu_capability="NEON")


def test_another_torch_is_refused(monkeypatch):
    transforms = [v2.ToImage(), v2.Resize(8, antialias=True)]
    resizing._known.cache_clear()
    real = resizing.checksums
    monkeypatch.setattr(resizing, "checksums", lambda *way: (1, *real(*way)[1:]))
    assert "this torch and torchvision resize tensors to other bits" in refusal(*transforms)
    monkeypatch.undo()
    resizing._known.cache_clear()
    compile_chain([("from_array", {"mode": "RGB"}), *nodes_for(*transforms)])


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("of_parts", [False, True])
def test_a_torch_that_minds_the_order_of_memory_is_another(monkeypatch, api, of_parts):
    """A kernel of its own for tensors with the channels last, or for parts of larger ones."""
    functional = APIS[api].functional
    name = "resized_crop" if of_parts else "resize"
    real = getattr(functional, name)

    def other(image, *args, **named):
        made = real(image, *args, **named)
        return made + 1 if image.stride(0) == 1 else made

    assert resizing.checksums(api, "bilinear", True) is not None
    monkeypatch.setattr(functional, name, other)
    assert resizing.checksums(api, "bilinear", True) is None
    assert resizing.checksums(api, "bilinear", True, floats=True) is None


def test_a_torch_without_the_resize_is_another(monkeypatch):
    def fails(*args, **kwargs):
        raise NotImplementedError("not implemented for 'Byte'")

    monkeypatch.setattr(v2.functional, "resize", fails)
    assert resizing.checksums(2, "bilinear", True) is None


def test_a_column_is_left_to_the_trainer():
    """torch takes rows for columns there, or fails."""
    for transforms in (
        [v2.ToImage(), v2.Resize((5, 1), antialias=True)],
        [v1.PILToTensor(), v1.Resize((5, 1), antialias=True)],
        [v2.ToImage(), v2.RandomResizedCrop((5, 1), antialias=True)],
        [v2.ToImage(), v2.Resize(1, antialias=True)],
    ):
        chain = compile_chain([("from_array", {"mode": "RGB"}), *nodes_for(*transforms)])
        with pytest.raises(native.Error, match="tensors of one column"):
            chain.run(torch.zeros((9, 4, 3), dtype=torch.uint8).numpy(), 0)
