"""From pixels of cv2's to the pictures and tensors that transforms get."""

from typing import Any

from ...native.joint import MASK, PIL, Sort
from ...native.opencv import Call
from ...native.plan import Node
from ..views.follower import Step
from ..views.joint import sort_of
from ..views.recognise import changes_its_input
from ..views.values import Image, Stop
from ..views.views import SOURCE, Known
from .pictures import OPENCV
from .pixels import ARRAY, TENSOR, Pixels

_OF_ARRAYS = ("ToTensor", "ToImage")
_TO_PIL = "ToPILImage"
# They compute with each element alone, or move elements: the order of the memory is nothing to them.
_OF_ANY_ORDER = (
    "CenterCrop", "ConvertImageDtype", "Identity", "Normalize", "RandomCrop", "RandomErasing",
    "RandomHorizontalFlip", "RandomVerticalFlip", "ToDtype",
)  # fmt: skip


class Tensors:
    """What the values of one following are. One thread."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Pixels, Image]] = {}  # by the number of the object
        self._returned: dict[int, tuple[Pixels, Image]] = {}  # arrays, by the same
        self._arrays: dict[int, bool] = {}  # steps that are arrays; whether they are grey
        self._planes: dict[int, Image] = {}  # what is returned, by the step that has a channel more
        self._shared: set[int] = set()  # tensors whose memory others may have
        self._unordered: set[int] = set()  # tensors with another order of the memory

    def image_of(self, f: Any, pixels: Pixels) -> Image:
        """Raises Stop."""
        if id(pixels) not in self._made:
            made = self._array(f, pixels) if pixels.is_bytes else self._tensor(f, pixels)
            self._made[id(pixels)] = (pixels, made)
        return self._made[id(pixels)][1]

    def returned(self, f: Any, pixels: Pixels) -> Image:
        """torch's collate makes tensors of arrays."""
        if pixels.kind == TENSOR:
            return self.image_of(f, pixels)
        if id(pixels) not in self._returned:
            self._returned[id(pixels)] = (pixels, self._tensor(f, pixels.as_tensor()))
        return self._returned[id(pixels)][1]

    def plane(self, f: Any, pixels: Pixels) -> Image | None:
        """tv_tensors.Mask(np.array(mask)), of [H, W]; None: of other than such an array's bytes."""
        if pixels.image is None or not pixels.is_bytes or pixels.axes != "HW":
            return None
        sort = Sort(MASK, sort_of(f, pixels.image).mode, flat=True)
        return _step(f, Node("pil_to_tensor", label="Mask(array)"), pixels.image, True, sort)

    def without_channel(self, f: Any, image: Image) -> Image:
        """What is returned in the place of this."""
        if image.step <= SOURCE or not sort_of(f, image).flat:
            return image
        if image.step not in self._planes:
            squeeze = Node("squeeze", label="a tensor [H, W]")
            self._planes[image.step] = _step(f, squeeze, image, sort=Sort(""))
        return self._planes[image.step]

    def as_pil(self, f: Any, pixels: Pixels) -> Image:
        if not pixels.is_bytes or pixels.image is not None:
            raise Stop("makes a PIL image of what was computed of the picture")
        return _step(f, Node("identity", label="Image.fromarray(image)"), _read(f, pixels))

    def applied(self, f: Any, transform: Any, image: Image, where: str) -> Image | None:
        """What it makes of an array or of a tensor that arithmetic made; None: of anything else."""
        called = type(transform).__name__
        if image.step in self._arrays:
            return self._of_array(f, transform, called, image, where)
        if image.step not in self._shared:
            return None
        made: Image = f.apply_any(transform, image, where)
        self.handed_on(transform, image, made)
        return made

    def handed_on(self, transform: Any, image: Image, made: Image) -> None:
        """A step has made it of the image. `transform`: None where it is no class of torchvision's.
        Raises Stop where the memory of the image matters to it."""
        if image.step not in self._shared:
            return
        called = type(transform).__name__
        if transform is not None and changes_its_input(transform):
            raise Stop(f"applies {called} with inplace=True to what has the picture's memory")
        if image.step in self._unordered:
            if transform is not None and called not in _OF_ANY_ORDER:
                raise Stop(f"applies {called} to a tensor with its channels last", ".contiguous()")
            self._unordered.add(made.step)
        self._shared.add(made.step)

    def _of_array(self, f: Any, transform: Any, called: str, image: Image, where: str) -> Image:
        if called == _TO_PIL:
            if transform.mode is not None:
                raise Stop("makes a PIL image with a mode of its own")
            mode = "L" if self._arrays[image.step] else "RGB"
            node = Node("identity", label="ToPILImage()")
            return _step(f, node, image, sort=Sort(PIL, mode))
        if called not in _OF_ARRAYS:
            raise Stop(
                f"applies {called} to an array that cv2 made",
                "ToTensor, or v2.ToImage, as the first transform",
            )
        made: Image = f.apply_any(transform, image, where)
        if self._arrays[image.step]:
            self._shared.add(made.step)
        return made

    def _array(self, f: Any, pixels: Pixels) -> Image:
        if pixels.picture.turned:
            raise Stop("makes a tensor of an array with steps below 0", "its .copy()")
        # A step of its own tells it from a picture of PIL's.
        read = _read(f, pixels)
        made = _step(f, Node("identity", label="the array"), read, sort=Sort(""))
        self._arrays[made.step] = pixels.picture.channels == 1
        return made

    def _tensor(self, f: Any, pixels: Pixels) -> Image:
        if pixels.kind == ARRAY:
            raise Stop("applies a transform to an array that was computed")
        image = _read(f, pixels)
        for node in pixels.nodes():
            image = _step(f, node, image, makes_tensors=True)
        self._shared.add(image.step)
        if not pixels.ordered:
            self._unordered.add(image.step)
        return image


def _read(f: Any, pixels: Pixels) -> Image:
    """The picture after the calls of cv2."""
    if pixels.image is not None:
        if pixels.picture.calls:
            raise Stop("changes the order of the channels of an array that PIL's picture is")
        return pixels.image
    source, calls = pixels.picture.source, list(pixels.picture.calls)
    # What is read as BGR and turned around at once is read as RGB.
    if calls and calls[0].node.op == "reverse_channels" and source.args["channels"] == "BGR":
        args = {**source.args, "channels": "RGB"}
        source = Node(source.op, args, label=f"{source.label}, {calls.pop(0).node.label}")
    image: Image = f.open(pixels.paths, "", OPENCV, source)
    for call in calls:
        image = _step(f, call.node, image)
        f.calls.extend([] if _is_known(f.calls, call) else [call])
    return image


def _is_known(calls: list[Call], call: Call) -> bool:
    return any((one.node, one.takes) == (call.node, call.takes) for one in calls)


def _step(
    f: Any, node: Node, image: Image, makes_tensors: bool = False, sort: Sort | None = None
) -> Image:
    f.steps.append(Step(Known(node, makes_tensors, sort), image.step, ""))
    return Image(len(f.steps) - 1)
