"""Whether timm's code is the code that native/timm.py stands for, as it is now in this process.

A function is known by its text, which releases of timm share or do not. What the program has replaced in
timm's modules, alterations.py sees; here is what these modules are read for beside that: the modules that
their functions call, and numbers that they compute with.

Pure but for the looking; any thread; nothing is imported.
"""

import functools
import sys
import types
from typing import Any

from .genuine import digest
from .python_random import own_functions

TRANSFORMS, ERASING = "timm.data.transforms", "timm.data.random_erasing"
AUGMENT = "timm.data.auto_augment"
MODULES = (AUGMENT, ERASING, TRANSFORMS)
# The samples' code in each, with the digests of its texts. timm 0.9 and 1.0.
_FUNCTIONS: dict[str, dict[str, str]] = {
    TRANSFORMS: {
        "MaybePILToTensor.__call__": "c7e60de24b8b8287fd35ebdf2926e8c9151fff66dad7fd4d0584498b7b4c66fb",
        "MaybeToTensor.__call__": "c8a696bd8382fbc539bacd43fb9e590776d2f8729a98c11de30ad3e9e118ef3d",
        "RandomResizedCropAndInterpolation.__call__": "1f079ab5a1559c6bd87ab0c9f29433e73b8b4ea21e27ac8e3b6eead60ca5f38f",
        "RandomResizedCropAndInterpolation.get_params": "99dcee8f4cb4f0b30632f4dd4d8828792d5389a3fed8d2f9509140282f8b79a8",
    },
    AUGMENT: {
        "AugmentOp.__call__": "402bafa66936a13c25574befa86af9363e48c53a6b901c8ccb6cb8cd19828af2",
        "AutoAugment.__call__": "c8aeae1f409b476bbd13ba8ae7bf592c73f901368e6ec9f7a23833c209987090",
        "RandAugment.__call__": "e6d9c1f8ca66b3b89fbff372ec0c741f806351e0b1fcc238dda7c1d44631a5f6",
        "_check_args_tf": "3426c65826b7a5ef67b21078428f8605d1f5815525fef5a53328485181b1a563",
        "_enhance_increasing_level_to_arg": "14c4fb16e7cda410a2b6f11134c74f01d4f9acac07d3fd42f40a0422fb7084a4",
        "_enhance_level_to_arg": "275956f144fae41cd39393e67ac23512a36c92e9240a3a9be8b20bf1225b7d7d",
        "_interpolation": "389507d258a50f24c61d417e059ad15575b02a18b0caf30afdcbb79fcd073d67",
        "_posterize_increasing_level_to_arg": "925b0d61afc2ec982d5bb3b0aae9f16cf42ad28193e984e0b31c42df927d077a",
        "_posterize_level_to_arg": "9dbd1918b92d958bc200c90a19751bda212a6a5a072f34470f60880eeb8f18ad",
        "_posterize_original_level_to_arg": "a23a7f232cbd036e99b2d0f52c6549b0a6a95b4912ca74d1e75acdb035d22365",
        "_randomly_negate": "475517e025732a86f7bde283ddf514be6713f35c94ee8d59b7fb51ca3bf1ead3",
        "_rotate_level_to_arg": "a45634ebd45fca7c0df4550fca8f80f1cfc4cd21e3d74047923f4ad5141ad54b",
        "_shear_level_to_arg": "9731f72d81d82cd2bb80bf2879e3b214759e86128e273be5cf159f95625d89d5",
        "_solarize_add_level_to_arg": "a922fba4b966d705f362aba247a4f242f5d516880eeaed7cd4a4f9d07711508e",
        "_solarize_increasing_level_to_arg": "2e9de9e5f33161d94f6b5c840ac8d9cf1d30ac290bdbfe3252f9aa3d298f1453",
        "_solarize_level_to_arg": "3f782da2521050a158589a76681cc9a8264e30ac33da27139707e67ee2bbcc88",
        "_translate_abs_level_to_arg": "5437bac5ba066990186291dde110075ca3005eeb232bd23da72a7527328999ce",
        "_translate_rel_level_to_arg": "8e2c97c2284d049821f8b1a4e757c01d2f6ca96b579e95cf4571ad2c0710aad7",
        "auto_contrast": "2b7ceab7bdc928bea3fc2b90793ece9cc567832b334a894499e72afcdc2b9052",
        "brightness": "8524d8ce1d120c874f2aed62a925a6a126a7084837ba311d3d64117bbb0f2921",
        "color": "c8fc72e9aaecacbc2b009ebda1970e21e24d3e17346b7fd673f805fbe2ca1e17",
        "contrast": "9df1209f040df0ad298d5b2c734f07e24808b116006e9a6971f6af54a33eb926",
        "equalize": "6bccc97e3f957340c5569506c3327e992650dd67410dcea7dab037d9b8812179",
        "invert": "9863ebbc9cb79a9e014e733e131c4c766d3281ac41fdc26e57c748d7a91ce17a",
        "posterize": "d409738490fc380a5d4ca9d933243ba2ef20289d45831ba077e628f9c1b3c735",
        "rotate": "c87450598f4cc1d5d8954c1e302f2b042d246802420d54f0c3b2a1e2c1c64d99",
        "sharpness": "a0a98318db0d83285ffed700af40203c32c44fa7b215599a243ac7ba82cb0802",
        "shear_x": "05f5e912b5878927c5e1014c198abe5c386e0f22720bde72257ec41929c36435",
        "shear_y": "8698cf4c74fe2f5cccb93cb418c240ca25e9533eadc673c7acfb0428f56e5fb0",
        "solarize": "d4bcee22b25c7d9020b263f226206683fb8f4a4eafe2f6538edde2d5c4432571",
        "solarize_add": "29bb9b418e848b2201b73038838f70573ba1f16e9751ad4897ca193efaa0772e",
        "translate_x_abs": "d67fdaf9ddb3b257c75c779c4b7fc2ee25012a086a74b98237b9ed1a5ee180df",
        "translate_x_rel": "08feb80e95f9ff61fa08785c4b49397fc32486b6fb00f0f93cfe5ebb16a73912",
        "translate_y_abs": "e123e396d981f35cfa443f52e78b599a75c6ab844e9311f9190bac33d4e8e5a6",
        "translate_y_rel": "076286e319e7e4d840d4504bb871f804a0777ed80a6cdc384d2fc1f0ec51bd87",
    },
    ERASING: {
        "RandomErasing.__call__": "0312ced5407c28e1530db15bdf3c31ed806d177ff935808816b55a0df8b99035",
        "RandomErasing._erase": "cb62bfe7873257bf8b39616060bdd812d89a881a67775deedca705775072d76d",
        "_get_pixels": "ff0ea6b7c5e333287eb2855708e6f54f4c1a23817aef6acce6594d3f8c0fe327",
    },
}
# The modules that this code calls, by the names that it has for them.
_CALLED = {
    TRANSFORMS: {
        "F": "torchvision.transforms.functional",
        "math": "math",
        "random": "random",
        "torch": "torch",
    },
    ERASING: {"math": "math", "random": "random", "torch": "torch"},
    AUGMENT: {
        "Image": "PIL.Image",
        "ImageEnhance": "PIL.ImageEnhance",
        "ImageOps": "PIL.ImageOps",
        "np": "numpy",
        "random": "random",
    },
}
_OF_RANDOM = ("choice", "gauss", "randint", "random", "uniform")
_OF_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE: of other classes nobody can replace a method
# The numbers that it computes with.
_DEFAULTS = {"solarize_add": (128,)}
_NUMBERS = {AUGMENT: {"_LEVEL_DENOM": 10.0}}
_OLDEST_PIL = (5, 2)  # of which timm turns pictures in a way of its own


def first_difference() -> str:
    """What of timm's is not known, in words; empty: all of it is. Modules that the program has not
    imported stand for nothing."""
    modules = [(name, vars(sys.modules[name])) for name in MODULES if name in sys.modules]
    for name, space in modules:
        for own, of in _CALLED[name].items():
            if space.get(own) is not sys.modules.get(of):
                return f"{name}.{own}"
        for path, known in _FUNCTIONS[name].items():
            function = _function(space, path)
            if function is not None and not _is_known(function, known, space, path):
                return f"{name}.{path}, or a release of timm is installed that is not known"
        for own, value in _NUMBERS.get(name, {}).items():
            if type(space.get(own)) is not type(value) or space[own] != value:
                return f"{name}.{own}"
        pil = space.get("_PIL_VER", _OLDEST_PIL)
        if type(pil) is not tuple or pil < _OLDEST_PIL:
            return f"{name}._PIL_VER"
    for of in _OF_RANDOM if modules else ():
        if own_functions(of) is None:
            return f"random.{of}, or what it calls"
    return _difference_of_numpy() if modules else ""


def _difference_of_numpy() -> str:
    """What of np.random.choice is not as NumPy made it; empty: nothing."""
    space = vars(sys.modules["numpy.random"])
    own: Any = vars(sys.modules["numpy.random.mtrand"]).get("_rand")
    cls = type(own)
    if cls.__name__ != "RandomState" or cls.__flags__ & _OF_PYTHON:
        return "numpy.random.mtrand._rand"
    if space.get("choice") != own.choice:
        return "numpy.random.choice"
    if type(own._bit_generator).__name__ != "MT19937":
        return "numpy.random's bit generator"
    return ""


def _function(space: dict[str, Any], path: str) -> Any:
    """A module's function, or a class's own; None: a release without it."""
    cls, _, name = path.rpartition(".")
    if cls:
        space = vars(space[cls]) if cls in space else {}
    found = space.get(name)
    return found.__func__ if isinstance(found, staticmethod) else found


def _is_known(function: Any, known: str, space: dict[str, Any], path: str) -> bool:
    if type(function) is not types.FunctionType or function.__globals__ is not space:
        return False
    if path in _DEFAULTS and function.__defaults__ != _DEFAULTS[path]:
        return False
    return _digest(function, function.__code__) == known


@functools.lru_cache(maxsize=256)
def _digest(function: Any, code: Any) -> str:
    """`code`: of the function, by which a change of it is seen."""
    return digest([function])
