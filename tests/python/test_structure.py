"""How fields are nested in a sample and in a batch."""

import torch
from headrace.native import structure
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import default_collate


def numbered(shape, count):
    """A structure of that shape, with numbers from `count`."""
    if shape is None:
        return count, count + 1
    if isinstance(shape, dict):
        made = {}
        for key, part in shape.items():
            made[key], count = numbered(part, count)
        return made, count
    parts = []
    for part in shape:
        made, count = numbered(part, count)
        parts.append(made)
    return type(shape)(parts), count


SHAPES = st.recursive(
    st.none(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["b", "a", 3]), inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


@given(SHAPES)
def test_as_default_collate_nests(shape):
    nested, count = numbered(shape, 0)
    samples = [[torch.tensor([i, s]) for i in range(count)] for s in range(3)]
    as_programs_see_them = [structure.sample_of(nested, sample) for sample in samples]
    batch = [torch.stack(field) for field in zip(*samples, strict=True)]
    expected = default_collate(as_programs_see_them)
    assert repr(structure.batch_of(nested, batch)) == repr(expected)
    for mine, sample in zip(samples, as_programs_see_them, strict=True):
        found = structure.fields_in(nested, sample)
        assert found is not None and all(a is b for a, b in zip(found, mine, strict=True))


def test_another_nesting_has_no_fields():
    nested = ([0, 1], 2)
    assert structure.fields_in(nested, (["a", "b"], "c")) == ["a", "b", "c"]
    assert structure.fields_in(nested, (("a", "b"), "c")) is None
    assert structure.fields_in(nested, [["a", "b"], "c"]) is None
    assert structure.fields_in(nested, (["a"], "c")) is None
    assert structure.fields_in({"a": 0, "b": 1}, {"b": 0, "a": 1}) is None
    assert structure.plain(2) == (0, 1)
