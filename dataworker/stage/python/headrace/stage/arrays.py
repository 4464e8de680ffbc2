"""How arrays, scalars and types of NumPy's are pickled: by functions that check what they are given.

NumPy's own pickles can't be read from a peer that is not trusted. The state of a dtype says by itself
whether its elements are objects, so bytes of a peer could become pointers.
"""

import math
import pickle
import sys
from typing import Any

# A dtype: its text, or of a structured one (names, types, offsets, bytes, whether aligned), or of a
# subarray (type, shape).
Spec = Any

# Of those, none has objects inside.
_NUMBERS = "biufc"
_PLAIN = _NUMBERS + "mMSUV"


def reduced(obj: Any) -> Any:
    """What a pickler reduces it to, as its reducer_override; NotImplemented: as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return NotImplemented
    if type(obj) is numpy.ndarray:
        return _reduced_array(numpy, obj)
    if isinstance(obj, numpy.generic):
        spec = _spec(numpy, obj.dtype) if type(obj) is obj.dtype.type else None
        return NotImplemented if spec is None else (rebuild_scalar, (spec, obj.tobytes()))
    if isinstance(obj, numpy.dtype):
        spec = _spec(numpy, obj)
        return NotImplemented if spec is None else (rebuild_dtype, (spec,))
    return NotImplemented


def _reduced_array(numpy: Any, array: Any) -> Any:
    dtype, shape = array.dtype, array.shape
    if dtype.kind == "O" and array.flags.c_contiguous and array.ndim:
        state = shape, array.reshape(-1).tolist()
        return rebuild_objects, (), state, None, None, fill_objects
    if not dtype.isnative and dtype.names is None:
        array = array.astype(dtype.newbyteorder("="))  # as stock's pickles make it
        dtype = array.dtype
    spec = _spec(numpy, dtype)
    if spec is None:
        return NotImplemented
    order = "C" if array.flags.c_contiguous else "F"
    if dtype.itemsize == 0 or not array.flags.forc:
        return rebuild_array, (array.tobytes(), spec, shape, "C", True)
    if dtype.kind not in _NUMBERS:  # times export no buffer
        array = (array if order == "C" else array.T).reshape(-1).view(numpy.uint8)
    return rebuild_array, (pickle.PickleBuffer(array), spec, shape, order)


def _spec(numpy: Any, dtype: Any) -> Spec | None:
    """None: a dtype that such a spec can't tell."""
    if dtype.isbuiltin == 1 and dtype.kind in _NUMBERS:
        return dtype.str
    if dtype.metadata or dtype.hasobject:
        return None
    if dtype.subdtype is not None:
        spec = _spec(numpy, dtype.subdtype[0])
        return None if spec is None else (spec, dtype.subdtype[1])
    if dtype.names is None:
        text: str = dtype.str
        return text if dtype.kind in _PLAIN and numpy.dtype(text) == dtype else None
    if dtype.type is not numpy.void:  # of records: numpy.record
        return None
    parts = [dtype.fields[name] for name in dtype.names]
    specs = [_spec(numpy, part[0]) for part in parts]
    if None in specs or any(len(part) > 2 for part in parts):  # a title
        return None
    offsets = tuple(part[1] for part in parts)
    return dtype.names, tuple(specs), offsets, dtype.itemsize, dtype.isalignedstruct


# What the pickles refer to.


def rebuild_dtype(spec: Spec) -> Any:
    """ValueError, TypeError: no dtype of plain elements."""
    import numpy

    if type(spec) is str:
        made = numpy.dtype(spec)
    elif len(spec) == 2:
        if type(spec[1]) is not tuple or not all(type(side) is int for side in spec[1]):
            raise ValueError(f"{spec[1]} is no shape")
        made = numpy.dtype((rebuild_dtype(spec[0]), spec[1]))
    else:
        names, types, offsets, size, aligned = spec
        formats = [rebuild_dtype(part) for part in types]
        parts: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
        made = numpy.dtype(parts, align=aligned)
    plain = made.subdtype is not None or made.names is not None or made.kind in _PLAIN
    if made.hasobject or not plain:
        raise ValueError(f"{made} is no type of plain elements")
    return made


def memory_of(buffer: Any) -> Any:
    """The buffer. TypeError: it is not plain bytes. The memory of another object, as of an array of
    objects that the same pickle has made, could hold pointers."""
    kind = type(buffer)
    if kind is bytes or kind is bytearray:
        return buffer
    if kind is memoryview and buffer.format == "B" and buffer.ndim == 1 and buffer.contiguous:
        return buffer
    raise TypeError(f"{kind.__name__} is no plain memory")


def sides_of(shape: Any) -> Any:
    """The shape. ValueError: it is none. Numbers that are values of tensors may change after a look."""
    if isinstance(shape, tuple) and all(type(side) is int and side >= 0 for side in shape):
        return shape
    raise ValueError(f"{shape} is no shape")


def rebuild_array(
    buffer: Any, spec: Spec, shape: tuple[int, ...], order: Any, own: bool = False
) -> Any:
    """An array that is the memory of `buffer`, or, `own`, a copy. ValueError, TypeError: it has another
    size, or is no plain memory."""
    import numpy

    dtype = rebuild_dtype(spec)
    if 0 in sides_of(shape) or dtype.itemsize == 0:
        # Of no bytes. numpy.empty would take some for a text of no length.
        return numpy.ndarray(shape, dtype, bytearray(), order=order)
    flat = numpy.frombuffer(memory_of(buffer), dtype)
    if math.prod(shape) != flat.size:
        raise ValueError(f"an array of shape {shape} in {flat.nbytes} bytes")
    made = flat.reshape(shape, order=order)
    return made.copy() if own else made


def rebuild_scalar(spec: Spec, data: bytes) -> Any:
    dtype = rebuild_dtype(spec)
    if dtype.itemsize == 0:
        return dtype.type()
    return rebuild_array(data, spec, (1,), "C", own=True)[0]


def rebuild_objects() -> Any:
    """An array for fill_objects, which may hold itself."""
    import numpy

    return numpy.empty(0, object)


def fill_objects(array: Any, state: tuple[tuple[int, ...], list[Any]]) -> None:
    """ValueError: no array of rebuild_objects, or not as many elements as its shape has."""
    import numpy

    shape, elements = state
    if type(array) is not numpy.ndarray or array.dtype.kind != "O" or array.size:
        raise ValueError("elements for no new array")
    if math.prod(sides_of(shape)) != len(elements):
        raise ValueError(f"{len(elements)} elements for shape {shape}")
    array.resize(len(elements), refcheck=False)
    for place, element in enumerate(elements):
        array[place] = element
    array.shape = shape
