"""What a crop leaves of a resize is all that is computed and decoded, and has the bits of the whole."""

from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.operators import SEEDS, check_file, check_image, jpeg, native, noise, png
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

APIS = {1: v1, 2: v2}
MODES = [mode.value for mode in InterpolationMode]

seeds = st.integers(0, SEEDS)
apis = st.sampled_from([1, 2])
# Long sides make Pillow change the order of its passes.
sides = st.one_of(st.integers(1, 200), st.integers(100, 500))


@st.composite
def files(draw):
    image = noise(
        draw(sides), draw(sides), draw(st.sampled_from([1, 3])), draw(st.integers(0, 999))
    )
    if draw(st.integers(0, 5)) == 0:
        return png(image)
    options = {"quality": draw(st.integers(20, 100)), "progressive": draw(st.booleans())}
    if image.mode == "RGB":
        options["subsampling"] = draw(st.sampled_from(["4:4:4", "4:2:2", "4:2:0"]))
    return jpeg(image, **options)


@st.composite
def resizes(draw):
    mode = draw(st.sampled_from(MODES))
    side = st.integers(1, 200)
    size = draw(st.one_of(st.integers(20, 200), st.tuples(side, side).map(list)))
    transform = APIS[draw(apis)].Resize(size, InterpolationMode(mode))
    return [transform], [("resize", {"size": size, "interpolation": mode})]


def crop_sizes():
    side = st.integers(1, 120)
    return st.one_of(side, st.tuples(side, side).map(list))


@st.composite
def crops(draw):
    size, api = draw(crop_sizes()), draw(apis)
    if draw(st.booleans()):
        return [APIS[api].CenterCrop(size)], [("center_crop", {"size": size})]
    padding = draw(st.integers(0, 9))
    mode = draw(st.sampled_from(["constant", "constant", "edge", "reflect", "symmetric"]))
    args = {"size": size, "padding": padding, "pad_if_needed": True, "padding_mode": mode}
    transform = APIS[api].RandomCrop(size, padding, True, padding_mode=mode)
    return [transform], [("random_crop", {**args, "api": api})]


BETWEEN = [
    ([], []),
    ([], []),
    ([v1.RandomHorizontalFlip()], [("random_horizontal_flip", {})]),
    ([v2.RandomVerticalFlip()], [("random_vertical_flip", {})]),
    ([v1.Grayscale(3)], [("grayscale", {"num_output_channels": 3})]),
    ([v1.Grayscale()], [("grayscale", {"num_output_channels": 1})]),
    ([v1.RandomGrayscale(0.5)], [("random_grayscale", {"p": 0.5})]),
    (
        [v1.ColorJitter(0.4, 0, 0.3, 0.1)],
        [("color_jitter", {"brightness": 0.4, "saturation": 0.3, "hue": 0.1})],
    ),
    ([v1.ColorJitter(contrast=0.4)], [("color_jitter", {"contrast": 0.4})]),
]
TO_TENSOR = ([v1.ToTensor()], [("to_tensor", {})])


@st.composite
def pipelines(draw):
    between = st.sampled_from(BETWEEN)
    first = draw(st.one_of(st.just(([], [])), crops(), between))
    parts = [first, draw(resizes()), draw(between), draw(crops()), draw(between), TO_TENSOR]
    return (
        v1.Compose([t for transforms, _ in parts for t in transforms]),
        [node for _, nodes in parts for node in nodes],
    )


def refused(error):
    """What PIL or the resize's schema says of an image that has no pixels left."""
    return "must be > 0" in str(error) or "reflects a side" in str(error)


@examples(200)
@given(files(), pipelines(), seeds)
def test_crops_behind_resizes(data, pipeline, seed):
    transform, nodes = pipeline
    try:
        check_file(nodes, transform, data, seed)
    except (native.Error, ValueError, ZeroDivisionError) as error:
        assert refused(error)


@examples(100)
@given(st.integers(1, 200), st.integers(1, 200), st.sampled_from([1, 3]), pipelines(), seeds)
def test_crops_behind_resizes_of_arrays(height, width, channels, pipeline, seed):
    transform, nodes = pipeline
    try:
        check_image(nodes, transform, noise(height, width, channels, seed % 999), seed)
    except (native.Error, ValueError, ZeroDivisionError) as error:
        assert refused(error)


@examples(50)
@given(files(), st.sampled_from(MODES), seeds)
def test_validation_as_written(data, mode, seed):
    transform = v1.Compose(
        [v1.Resize(256, InterpolationMode(mode)), v1.CenterCrop(224), v1.ToTensor()]
    )
    nodes = [
        ("resize", {"size": 256, "interpolation": mode}),
        ("center_crop", {"size": 224}),
        ("to_tensor", {}),
    ]
    check_file(nodes, transform, data, seed)
