"""What the property tests of transforms draw: pictures, and the arguments that transforms share."""

from hypothesis import strategies as st
from torchvision import transforms as v1
from torchvision.transforms import v2

from support.operators import SEEDS, noise

APIS = {1: v1, 2: v2}

seeds = st.integers(0, SEEDS)
apis = st.sampled_from([1, 2])
angles = st.one_of(st.integers(-720, 720), st.floats(-720, 720))
centers = st.one_of(
    st.none(),
    st.lists(st.one_of(st.integers(-50, 150), st.floats(-50, 150)), min_size=2, max_size=2),
    st.tuples(st.integers(0, 90), st.integers(0, 90)),
)


@st.composite
def images(draw, least=1, most=90):
    side = st.integers(least, most)
    return noise(draw(side), draw(side), draw(st.sampled_from([1, 3])), draw(st.integers(0, 999)))


@st.composite
def fills(draw, image, one=True):
    """None, a number, or one for each channel; `one`: a list of one number too."""
    value = st.one_of(st.integers(0, 255), st.floats(0, 255))
    count = len(image.getbands())
    many = st.lists(value, min_size=count, max_size=count)
    single = st.lists(value, min_size=1, max_size=1)
    return draw(st.one_of(st.none(), value, many, many.map(tuple), *([single] if one else [])))


@st.composite
def bounds(draw, value):
    low, high = draw(value), draw(value)
    return (min(low, high), max(low, high))


# RandomAffine's.
AFFINE = {
    "degrees": st.one_of(bounds(angles), st.integers(0, 360)),
    "translate": st.one_of(st.none(), st.tuples(st.floats(0, 1), st.floats(0, 1))),
    "scale": st.one_of(st.none(), bounds(st.floats(0.05, 4))),
    "shear": st.one_of(
        st.none(),
        st.integers(0, 80),
        bounds(st.floats(-80, 80)),
        st.tuples(bounds(st.floats(-80, 80)), bounds(st.floats(-80, 80))).map(
            lambda two: [*two[0], *two[1]]
        ),
    ),
    "center": centers,
}
