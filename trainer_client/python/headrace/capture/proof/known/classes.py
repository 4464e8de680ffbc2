"""Classes: which methods read, which change their object, which reach out of the process."""

import io
import logging
import pathlib
import random
import re
import sys
import zipfile
from typing import Any

import numpy as np
import torch

from .. import contents, items
from ..arguments import Arguments
from ..contents import format_all
from ..frames import Frame
from ..interpreter import Interpreter
from ..proof import Code, Doubt
from ..values import (
    ANY_SCALAR,
    NONE,
    Abstract,
    Lasting,
    Value,
    Vector,
    describe,
    holds_lasting,
    lasts,
    one,
)
from .entry import ALIAS, FRESH, apply
from .pictures import image_class

ARRAYS = {np.ndarray, np.memmap, torch.Tensor, torch.nn.Parameter, Vector}


class Class:
    """reads: methods that change nothing. changes: methods that change their object. fresh: of the
    reads, those whose result shares nothing with the object. scalars and views: attributes."""

    def __init__(
        self, reads: str = "", changes: str = "", fresh: str = "", scalars: str = "",
        views: str = "", draws: str = "",
    ) -> None:  # fmt: skip
        self.fresh = set(fresh.split())
        self.reads = set(reads.split()) | self.fresh
        self.changes, self.scalars = set(changes.split()), set(scalars.split())
        self.views, self.draws = set(views.split()), set(draws.split())
        self.methods = self.reads | self.changes | self.draws


_COMPUTED = (
    "all any argmax argmin argsort clip cumprod cumsum dot max mean min nonzero prod "
    "repeat round std sum trace var tolist item copy __len__ astype take tobytes "
    "searchsorted compress"
)
_ARRAY = Class(
    reads="reshape view squeeze swapaxes transpose ravel diagonal __iter__ __getitem__ conj __array__ choose",
    fresh=_COMPUTED + " flatten",
    changes="fill put resize sort partition itemset setflags byteswap __setitem__ setfield",
    scalars="shape size ndim dtype itemsize nbytes strides",
    views="T real imag flat data base mT",
)
_TENSOR = Class(
    reads="reshape view squeeze unsqueeze transpose permute numpy contiguous to cpu float double long "
    "int half byte bool short bfloat16 detach expand expand_as view_as narrow select unbind chunk "
    "split flatten diagonal t unfold movedim swapaxes swapdims type type_as __iter__ "
    "reshape_as ravel tensor_split squeeze_ share_memory as_subclass unflatten "
    "clone_ pin_memory cuda is_contiguous size dim numel stride ndimension __getitem__ "
    "conj __array__ diag diff sum_to_size broadcast_to dequantize coalesce to_dense values indices",
    fresh=_COMPUTED + " clone abs add sub mul div pow sqrt exp log sin cos sigmoid softmax clamp "
    "clamp_min clamp_max ceil floor eq ne lt le gt ge logical_and logical_not logical_or matmul mm "
    "bmm mv norm float_power fmod remainder gather index_select masked_select masked_fill scatter "
    "scatter_add where topk sort unique flip roll tile repeat_interleave new_zeros new_ones "
    "new_tensor new_full new_empty isnan isinf isfinite median quantile amax amin outer "
    "histc bincount triu tril cross det inverse logsumexp log_softmax relu tanh "
    "is_floating_point is_complex data_ptr element_size nelement get_device neg sign square "
    "true_divide floor_divide maximum minimum allclose equal kthvalue nanmean nansum cummax rsqrt "
    "log2 log10 log1p expm1 atan2 round trunc frac lerp index_fill index_add index_copy addmm "
    "unique_consecutive isin count_nonzero std_mean var_mean dist rot90 fliplr flipud "
    "bitwise_and bitwise_or bitwise_not bitwise_xor __bool__ cosh sinh reciprocal "
    "masked_scatter storage_offset is_sparse_ nanmedian logical_xor stft istft mode baddbmm",
    scalars="shape dtype device ndim requires_grad is_sparse is_cuda layout is_leaf names itemsize",
    views="T data mT real imag H mH grad",
)
_GENERATOR = Class(
    draws="random randint uniform gauss normalvariate randrange betavariate choice choices sample "
    "shuffle integers normal permutation standard_normal rand randn random_sample beta binomial "
    "exponential gamma poisson seed getrandbits manual_seed get_state set_state getstate setstate "
    "initial_seed multivariate_normal dirichlet permuted laplace lognormal triangular bytes "
    "expovariate random_integers geometric vonmises multinomial rayleigh standard_gamma spawn_",
)
_PICTURE = Class(
    fresh="convert resize crop rotate transpose copy filter point split getchannel getbbox getcolors "
    "getextrema getpixel histogram entropy quantize tobytes transform reduce "
    "effect_spread remap_palette getbands __array__ getpalette get_format_mimetype apply_transparency_ "
    "tell verify_ get_child_images toqimage_ tobitmap get_flattened_data",
    reads="getexif getdata __enter__ __exit__ __array_interface__",
    changes="paste putdata putpixel putalpha putpalette thumbnail draft seek load close verify "
    "alpha_composite apply_transparency frombytes",
    scalars="size width height mode format filename is_animated n_frames readonly",
    views="info",
)
_FILE = Class(
    changes="read readline readlines seek tell close readinto read1 peek __enter__ __exit__ __iter__ "
    "__next__ fileno readable seekable getvalue getbuffer namelist infolist open getmember "
    "getmembers extractfile getnames getinfo flush_ closed_ isatty",
    scalars="closed name mode",
)
_MEMORY_FILE = Class(
    changes=" ".join(_FILE.changes) + " write writelines truncate", scalars="closed"
)
_MATCH = Class(fresh="group groups groupdict start end span expand __getitem__",
               scalars="pos endpos lastindex lastgroup string re regs")  # fmt: skip
_PATH = Class(
    fresh="exists is_file is_dir stat iterdir glob rglob read_text read_bytes as_posix joinpath "
    "with_suffix with_name relative_to resolve absolute expanduser is_absolute match __fspath__ "
    "__truediv__ with_stem is_symlink as_uri is_relative_to lstat samefile is_mount __str__",
    scalars="name stem suffix parent parts suffixes parents anchor drive root",
)
_LOGGER = Class(fresh="debug info warning error critical exception log isEnabledFor warn getChild "
                "getEffectiveLevel hasHandlers", scalars="level name disabled")  # fmt: skip
_FRAME = Class(
    reads="iloc loc at iat values head tail __getitem__ get iterrows itertuples items keys index "
    "columns to_numpy squeeze T reset_index query isin __len__ __iter__ __contains__ groups str dt",
    fresh="to_dict copy tolist to_list astype sum mean min max unique nunique isna isnull notna "
    "dropna_ fillna_ apply_ item sort_values_ value_counts between eq ne any all count drop_ "
    "merge_ sample_",
    changes="__setitem__ __delitem__ insert pop update",
    scalars="shape size empty ndim dtypes dtype name", views="iloc loc at iat values T index columns "
    "str dt groups",
)  # fmt: skip
_WORKER = Class(scalars="id num_workers seed")
_KEPT_FILE = Class(
    reads="__getitem__ get keys values items __len__ __contains__ __iter__ attrs __enter__ __exit__ "
    "read_direct_ asstr",
    scalars="shape dtype size ndim name len_",
    views="attrs",
)

_ARCHIVE = Class(
    fresh="read open namelist infolist getinfo printdir_",
    reads="__enter__ __exit__",
    scalars="filename mode debug comment filelist_",
)
# A transaction that reads is made for its caller. One that writes is refused by an environment that travels.
_ENVIRONMENT = Class(fresh="begin stat info path flags max_key_size")
_TRANSACTION = Class(fresh="get stat", reads="__enter__ __exit__")
_PATTERN = Class(fresh="match search fullmatch findall finditer split splititer sub subn",
                 scalars="pattern flags groups groupindex")  # fmt: skip
_SOUND = Class(scalars="name samplerate channels frames duration format subtype sections endian")
# pandas' arrays that are none of numpy's.
_COLUMN = Class(fresh="tolist to_numpy copy astype isna unique", reads="__getitem__ take __len__ __iter__",
                changes="__setitem__", scalars="shape size ndim dtype nbytes")  # fmt: skip
_ARROW_MAP = Class(fresh="read_at size", scalars="closed mode")

CLASSES: dict[type, Class] = {
    np.ndarray: _ARRAY, np.memmap: _ARRAY, Vector: _ARRAY, torch.Tensor: _TENSOR,
    torch.nn.Parameter: _TENSOR, random.Random: _GENERATOR, np.random.Generator: _GENERATOR,
    np.random.RandomState: _GENERATOR, torch.Generator: _GENERATOR, re.Match: _MATCH,
    io.TextIOWrapper: _FILE, io.BufferedReader: _FILE, io.BytesIO: _MEMORY_FILE,
    io.StringIO: _MEMORY_FILE,
    pathlib.PosixPath: _PATH, pathlib.PurePosixPath: _PATH, logging.Logger: _LOGGER,
    torch.utils.data._utils.worker.WorkerInfo: _WORKER, zipfile.ZipFile: _ARCHIVE,
}  # fmt: skip
_LATER = {
    ("PIL.JpegImagePlugin", "JpegImageFile"): _PICTURE, ("PIL.PngImagePlugin", "PngImageFile"):
    _PICTURE, ("PIL.Image", "Image"): _PICTURE,
    ("pandas", "DataFrame"): _FRAME, ("pandas", "Series"): _FRAME,
    ("pandas.core.indexing", "_iLocIndexer"): _FRAME, ("pandas.core.indexing", "_LocIndexer"): _FRAME,
    ("pandas", "Index"): _FRAME, ("pandas", "RangeIndex"): _FRAME,
    ("h5py", "File"): _KEPT_FILE, ("h5py", "Dataset"): _KEPT_FILE, ("h5py", "Group"): _KEPT_FILE,
    ("lmdb", "Environment"): _ENVIRONMENT, ("lmdb", "Transaction"): _TRANSACTION,
    ("pyarrow", "MemoryMappedFile"): _ARROW_MAP, ("regex", "Pattern"): _PATTERN,
    ("regex", "Match"): _MATCH,
    ("soundfile", "_SoundFileInfo"): _SOUND,
    **{("pandas.arrays", name): _COLUMN for name in (
        "ArrowStringArray", "ArrowExtensionArray", "StringArray", "IntegerArray", "FloatingArray",
        "BooleanArray", "Categorical")},
    ("torchvision.tv_tensors", "Image"): _TENSOR, ("torchvision.tv_tensors", "Mask"): _TENSOR,
    ("torchvision.tv_tensors", "BoundingBoxes"): _TENSOR,
}  # fmt: skip
_loaded: set[Any] = set()

# Methods of a value whose class is not known: a number, a text, an array, or plain data of a
# library.
SCALAR_METHODS = (
    {n for cls in (str, bytes, int, float, complex, tuple, frozenset) for n in dir(cls)}
    | _ARRAY.fresh
    | {"numpy", "item", "tolist", "size", "dim", "clone", "reshape", "squeeze", "view"}
) - {"__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__getattribute__"}
_PLAIN = (_ARRAY, _TENSOR, _PICTURE, _MATCH, _PATH, _FRAME, _FILE)
_ANY_READS = (set().union(*[c.reads for c in _PLAIN]) | SCALAR_METHODS
              | {"get", "items", "keys", "values"})  # fmt: skip
_ANY_CHANGES = set().union(*[c.changes for c in _PLAIN]) | {
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "add",
    "discard", "setdefault", "popitem", "hexdigest", "digest", "text", "line", "rectangle", "ellipse",
    "polygon", "apply", "enhance",
}  # fmt: skip


def load() -> None:
    for (module_name, name), known in _LATER.items():
        module = sys.modules.get(module_name)
        if module is not None and (module_name, name) not in _loaded:
            cls = getattr(module, name, None)
            if isinstance(cls, type):
                _loaded.add((module_name, name))
                CLASSES[cls] = known
                if known is _TENSOR:
                    ARRAYS.add(cls)


def of(cls: Any) -> Class | None:
    return CLASSES.get(cls)


def attribute_kind(cls: Any, name: str) -> str | None:
    """ "method", "scalar", "alias"; None: not known."""
    if cls is None:
        if any(name in c.views or name in c.scalars for c in _PLAIN) or name == "text":
            return "alias"
        in_place = name.endswith("_") and not name.startswith("_")
        return "method" if name in _ANY_READS | _ANY_CHANGES or in_place else None
    known = CLASSES.get(cls)
    if known is None:
        return None
    if known is _PICTURE and not hasattr(cls, name):
        return "missing"
    if name in known.views:
        return "alias"
    if name in known.scalars:
        return "scalar"
    in_place = known is _TENSOR and name.endswith("_") and hasattr(torch.Tensor, name)
    return "method" if name in known.methods or in_place else None


def call_method(it: Interpreter, frame: Frame, part: Any, name: str, given: Arguments) -> Value:
    """part.name(...), of a class that is no container. Raises Doubt where it is not known."""
    cls: Any = getattr(part, "cls", None)
    known = CLASSES.get(cls)
    if known is _GENERATOR:
        return _draw(it, frame, part, name, given)
    if cls is not None and known is None:
        full = f"{cls.__module__}.{cls.__qualname__}"
        raise Doubt(Code.UNKNOWN_CALL, f"calls .{name} of {describe(part)}, of class {full}, which "
                    "is not known")  # fmt: skip
    reads = known.reads if known is not None else _ANY_READS
    changes = known.changes if known is not None else _ANY_CHANGES
    fresh = known.fresh if known is not None else _ANY_FRESH
    of_tensor = known in (_TENSOR, None)
    in_place = of_tensor and name.endswith("_") and not name.startswith("_")
    if in_place or name in changes and (known is not None or name not in reads or name in _RISKY):
        it.writes_if_lasting(part)
        if name.rstrip("_") in _DRAW_IN_PLACE:
            it.draws()
        if known is None and not in_place:
            items.check_content(it, part, given.all())
        apply(it, frame, name, given, FRESH)
        share = Abstract(
            None if known in (_FILE, _MEMORY_FILE) else cls, lasts(part), describe(part)
        )
        return frozenset((share, *ANY_SCALAR))
    if name not in reads:
        of_class = f" of class {cls.__qualname__}" if cls is not None else ""
        raise Doubt(Code.UNKNOWN_CALL, f"calls .{name} of {describe(part)}{of_class}, which is not "
                    "known")  # fmt: skip
    if known is _LOGGER:
        format_all(it, frame, given.all())
        return NONE
    if name in _NUMBERS and not (type(part) is Lasting and known is None):
        apply(it, frame, name, given, FRESH)
        return ANY_SCALAR
    copies = name in fresh and "copy" not in given.named
    if known in (_ARRAY, None) and name in _ARRAY.fresh:
        for value in given.args[1:] + ([given.rest] if given.rest else []):  # an `out`
            for inner in value:
                it.writes_if_lasting(inner)
    copies = copies and not (name == "astype" and (len(given.args) > 1 or given.more))
    found = apply(it, frame, name, given, FRESH if copies else ALIAS, _result(cls, name))
    if copies or not holds_lasting(one(part)):
        return found
    return frozenset((Abstract(_result(cls, name), True, describe(part)), *ANY_SCALAR))


_ANY_FRESH = (_ARRAY.fresh & _TENSOR.fresh | _PATH.fresh | _MATCH.fresh | {"clone"}) - {"copy"}
_NUMBERS = {"size", "dim", "numel", "stride", "ndimension", "is_contiguous", "__len__", "data_ptr",
            "element_size", "nelement", "get_device", "is_floating_point", "exists", "is_file"}  # fmt: skip
_RISKY = {"sort", "resize", "load", "pop", "update", "insert", "fill", "put", "partition"}
_DRAW_IN_PLACE = {"uniform", "normal", "random", "bernoulli", "exponential", "geometric", "cauchy",
                  "log_normal"}  # fmt: skip


def _result(cls: Any, name: str) -> Any:
    if name in ("numpy", "__array__"):
        return np.ndarray
    if name in ("tolist", "item", "split", "unbind", "chunk", "type", "tobytes", "getdata"):
        return None
    if CLASSES.get(cls) is _PICTURE:
        return image_class()
    return cls if cls in ARRAYS and name not in ("max", "min", "sort", "topk", "unique", "nonzero",
                                                 "median", "mode", "kthvalue") else None  # fmt: skip


def _draw(it: Interpreter, frame: Frame, part: Any, name: str, given: Arguments) -> Value:
    if name not in _GENERATOR.draws:
        raise Doubt(Code.UNKNOWN_CALL, f"calls .{name} of {describe(part)}, a random generator")
    it.draws()
    if type(part) is Lasting:
        for thing in part.objects:
            it.check_generator(thing, part)
    elif lasts(part):
        it.writes(part, "draws from")
    if name == "shuffle":
        apply(it, frame, name, given, FRESH, None, (0,))
        return NONE
    if name in ("choice", "choices", "sample") and given.args:
        each = contents.iterate(it, frame, given.at(0))
        if name == "choice":
            cls = Vector if len(given.args) > 1 or "size" in given.named else None
            return each | one(Abstract(cls))
        made = it.make(frame, (name, frame.line), list)
        it.grow(made, each)
        return one(made)
    apply(it, frame, name, given, FRESH)
    if name in ("permutation", "permuted"):
        return one(Abstract(Vector))
    if type(part) is Lasting and part.cls is random.Random:
        return ANY_SCALAR
    return frozenset((Abstract(np.ndarray), *ANY_SCALAR))


def is_manager(part: Any) -> bool:
    cls: Any = getattr(part, "cls", None)
    return any(CLASSES.get(cls) is one_ for one_ in (_FILE, _PICTURE, _KEPT_FILE, _ARCHIVE))
