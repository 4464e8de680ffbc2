"""PIL and OpenCV."""

import sys
from typing import Any

import numpy as np

from ..arguments import Arguments
from ..frames import Frame
from ..interpreter import Interpreter
from ..values import Value
from .entry import ALIAS, FRESH, Entry, apply, check_mode

_CV2_BY_INPUTS = {
    # name: arguments by position before the one that is written to, if it is given.
    1: "imread imdecode bitwise_not",
    2: "cvtColor resize GaussianBlur medianBlur flip add subtract multiply divide absdiff "
       "bitwise_and bitwise_or bitwise_xor erode dilate rotate LUT warpAffine warpPerspective "
       "remap filter2D Canny Laplacian equalizeHist blur boxFilter bilateralFilter sqrBoxFilter "
       "convertScaleAbs copyMakeBorder threshold adaptiveThreshold addWeighted inRange transform "
       "perspectiveTransform hconcat vconcat transpose pyrDown pyrUp Sobel Scharr morphologyEx "
       "applyColorMap min max undistort sepFilter2D",
}  # fmt: skip
# More inputs than two come before the one that is written to.
_MORE = {
    "warpAffine": 3, "warpPerspective": 3, "remap": 4, "GaussianBlur": 3, "filter2D": 3,
    "medianBlur": 2, "resize": 2, "Canny": 3, "copyMakeBorder": 6, "threshold": 4,
    "adaptiveThreshold": 6, "addWeighted": 5, "inRange": 3, "boxFilter": 3, "bilateralFilter": 4,
    "Sobel": 4, "Scharr": 4, "morphologyEx": 3, "erode": 2, "dilate": 2, "undistort": 3,
    "sepFilter2D": 4, "convertScaleAbs": 1, "equalizeHist": 1, "transpose": 1, "pyrDown": 1,
    "pyrUp": 1, "hconcat": 1, "vconcat": 1, "cvtColor": 2, "flip": 2, "rotate": 2, "LUT": 2,
}  # fmt: skip
_CV2_OTHERS = (
    "getRotationMatrix2D getAffineTransform getPerspectiveTransform getStructuringElement contourArea "
    "boundingRect arcLength minAreaRect boxPoints getTextSize split connectedComponents findContours "
    "moments createCLAHE goodFeaturesToTrack mean meanStdDev minMaxLoc countNonZero norm "
    "getGaussianKernel Rodrigues merge calcHist approxPolyDP convexHull fillConvexPoly_ imencode "
    "invertAffineTransform pointPolygonTest distanceTransform setNumThreads ocl.setUseOpenCL"
)
_CV2_DRAW = (
    "rectangle putText line circle drawContours fillPoly polylines ellipse fillConvexPoly arrowedLine "
    "drawMarker floodFill randu randn randShuffle normalize_"
)


def _cv2() -> list[Any]:
    entries: list[Any] = []
    for count, names in _CV2_BY_INPUTS.items():
        for name in names.split():
            entries.append((name, Entry(FRESH, np.ndarray, most=_MORE.get(name, count))))
    entries.append((_CV2_OTHERS, Entry(FRESH)))
    entries.append((_CV2_DRAW, Entry(ALIAS, np.ndarray, (0,))))
    return entries


class _Image:
    """PIL's class of pictures, where PIL is loaded."""


def image_class() -> Any:
    module = sys.modules.get("PIL.Image")
    return module.Image if module is not None else _Image


def _picture(result: str, **more: Any) -> Entry:
    def special(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
        if getattr(thing, "__name__", "") == "open":
            check_mode(given.at(1, "mode"), "Image.open")
        return apply(it, frame, "PIL", given, result, image_class())

    return Entry(special=special, **more)


ENTRIES = {
    "cv2": _cv2(),
    "PIL.Image": [
        ("open new merge blend composite alpha_composite frombytes effect_noise "
         "effect_mandelbrot linear_gradient radial_gradient", _picture(FRESH)),
        ("fromarray frombuffer", _picture(ALIAS)),
    ],
    "PIL.ImageOps": [
        ("autocontrast colorize contain cover cover crop equalize exif_transpose expand fit flip "
         "grayscale invert mirror pad posterize scale solarize", _picture(ALIAS)),
    ],
    "PIL.ImageEnhance": [("Color Contrast Brightness Sharpness", Entry(ALIAS))],
    "PIL.ImageFilter": [
        ("GaussianBlur BoxBlur UnsharpMask Kernel MedianFilter MinFilter MaxFilter ModeFilter RankFilter",
         Entry(FRESH)),
    ],
    "PIL.ImageChops": [("add subtract multiply difference darker lighter invert offset screen",
                        _picture(FRESH))],
    "PIL.ImageDraw": [("Draw", Entry(ALIAS, None, (0,)))],
}  # fmt: skip
