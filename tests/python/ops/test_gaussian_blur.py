"""GaussianBlur equals torchvision's bit for bit, in v1 and v2, on PIL images and on uint8 tensors."""

import sys

import numpy as np
import pytest
import torch
from headrace.native import blurring
from headrace.native.transforms import node_of
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.image_strategies import APIS, apis, seeds
from support.operators import check_file, check_image, compile_chain, jpeg, native, noise
from support.torch_bits import needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import v2

PLACES = [[], [v1.PILToTensor()], [v2.ToImage(), v2.RandomHorizontalFlip()]]

# The client finds that its torch convolves in the native order, or torchvision makes the blur.
needs_sums = pytest.mark.skipif(
    not node_of(v1.GaussianBlur(23)).args["known_sums"],
    reason="torch convolves in an order that is not known here",
)
sizes = st.one_of(st.integers(0, 12), st.sampled_from([11, 16, 25])).map(lambda half: 2 * half + 1)
sigmas = st.one_of(
    st.just((0.1, 2.0)),
    st.floats(1e-3, 50),
    st.tuples(st.floats(0.05, 5), st.floats(0, 10)).map(lambda ab: (ab[0], ab[0] + ab[1])),
)


def chain_of(*transforms):
    return [(node.op, node.args) for node in map(node_of, transforms)]


def refusal(*transforms):
    with pytest.raises(native.Error, match="Unsupported: node") as error:
        compile_chain([("from_array", {"mode": "RGB"}), *chain_of(*transforms)])
    return str(error.value)


def is_native(image, columns, rows):
    """Else the trainer makes the sample."""
    channels = len(image.getbands())
    padded = (image.width + columns - 1) * (image.height + rows - 1)
    small = min(columns, rows) <= 3 and padded <= 20480
    return channels == 3 or not small or columns == rows == 1


def check(image, seed, first, transform):
    check_image(chain_of(*first, transform), v1.Compose([*first, transform]), image, seed)


@needs_sums
@examples(300)
@given(
    apis, st.sampled_from(PLACES), sizes, sizes, st.booleans(), sigmas, st.integers(1, 150),
    st.integers(1, 150), st.sampled_from([1, 3, 3]), seeds,
)  # fmt: skip
def test_gaussian_blur(api, first, columns, rows, square, sigma, height, width, channels, seed):
    rows = columns if square else rows
    image = noise(height + rows // 2, width + columns // 2, channels, seed)
    blur = APIS[api].GaussianBlur((columns, rows), sigma)
    if is_native(image, columns, rows):
        check(image, seed, first, blur)
    else:
        chain = compile_chain([("from_array", {"mode": "L"}), *chain_of(*first, blur)])
        with pytest.raises(native.Error, match="Unsupported"):
            chain.run(np.asarray(image), seed)


@needs_sums
@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("size", [3, 9, 23])
@pytest.mark.parametrize("shape", [(224, 224), (375, 500), (96, 96), (700, 403)])
def test_sizes_of_programs(api, size, shape):
    for seed in range(2):
        check(noise(*shape, 3, seed), seed, [], APIS[api].GaussianBlur(size, (0.1, 2.0)))


@needs_sums
@pytest.mark.parametrize("api", [1, 2])
def test_in_a_pipeline_from_a_file(api):
    """The crop after it makes a part; torchvision makes all of it."""
    data = jpeg(noise(120, 170, 3, 5))
    lib = APIS[api]
    steps = [
        lib.RandomResizedCrop(96),
        lib.ColorJitter(0.4, 0.4, 0.4, 0.1),
        lib.RandomGrayscale(0.5),
        lib.GaussianBlur(9),
        lib.RandomHorizontalFlip(),
        lib.RandomCrop(64, padding=4),
        lib.PILToTensor(),
    ]
    for seed in range(40):
        check_file(chain_of(*steps), v1.Compose(steps), data, seed)


@needs_sums
@pytest.mark.parametrize("api", [1, 2])
def test_every_weight_of_many_deviations(api):
    """Weights, and so the order of torch's own sums and its exp, in 20,000 draws."""
    _, args = chain_of(APIS[api].GaussianBlur(23))[0]
    chain = compile_chain([("decode", {}), ("gaussian_blur", args)])
    drawn, _ = chain.draw([(30, 30)] * 20_000, 7)
    torch.manual_seed(7)
    module = sys.modules[blurring._MODULES[api]]
    for params in drawn:
        sigma = torch.empty(1).uniform_(0.1, 2.0).item()
        weights = module._get_gaussian_kernel1d(23, sigma, torch.float32, torch.device("cpu"))
        assert np.array(params, np.int32).tobytes() == weights.numpy().tobytes() * 2


@needs_sums
def test_a_border_longer_than_the_image_is_torchs_error():
    chain = compile_chain([("from_array", {"mode": "RGB"}), *chain_of(v1.GaussianBlur(9))])
    with pytest.raises(native.Error, match="Unsupported.*border of 4"):
        chain.run(np.asarray(noise(4, 30, 3, 1)), 1)
    with pytest.raises(RuntimeError, match="[Pp]adding"):
        v1.GaussianBlur(9)(noise(4, 30, 3, 1))


@needs_vectors
@pytest.mark.parametrize("api", [1, 2])
def test_the_sums_of_onednn_3_12_are_known(api):
    if "MKL-DNN v3.12" not in torch.__config__.show():
        pytest.skip("another oneDNN")
    for size in (1, 3, (5, 9), 23, 51):
        assert node_of(APIS[api].GaussianBlur(size, (0.1, 5.0))).args["known_sums"] == 1


def test_other_floats_are_torchs():
    half = v2.ToDtype(torch.float16)
    assert "of uint8 or float32 only" in refusal(v1.ToTensor(), half, v1.GaussianBlur(3))


def test_a_torch_that_sums_in_another_order_is_left_alone(monkeypatch):
    blurring._known.cache_clear()
    conv2d = torch.nn.functional.conv2d
    module = sys.modules[blurring._MODULES[1]]

    def backwards(image, weight, **named):
        """The same sums from the last row to the first: the image and the kernel upside down."""
        return conv2d(image.flip(-1, -2), weight.flip(-1, -2), **named).flip(-1, -2)

    monkeypatch.setattr(module, "conv2d", backwards)
    assert "order that is not known" in refusal(v1.GaussianBlur(9))
    blurring._known.cache_clear()


def test_a_version_of_onednn_that_was_never_compared_is_left_alone(monkeypatch):
    blurring._known.cache_clear()
    monkeypatch.setattr(blurring, "_ONEDNN", ("0.0",))
    assert "order that is not known" in refusal(v2.GaussianBlur(9))
    blurring._known.cache_clear()


def test_a_program_without_onednn_is_left_alone():
    torch._C._set_mkldnn_enabled(False)
    try:
        assert "order that is not known" in refusal(v2.GaussianBlur(9))
    finally:
        torch._C._set_mkldnn_enabled(True)
