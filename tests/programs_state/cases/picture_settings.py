"""What a program changes in PIL and torchvision before it iterates: flags, plug-ins, functions."""

import io
import warnings

import numpy as np
import torch
import torchvision
from bits import epochs, say
from cases import case, looked, main, own_photos, photos
from PIL import Image, ImageFile, ImageOps
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import functional as F


class Files(Dataset):
    """A data set of one's own, as most programs write it."""

    def __init__(self, root, transform=None, fallback=False):
        self.files = sorted(root.rglob("*.*"))
        self.transform = transform or T.Compose([T.Resize((24, 24)), T.ToTensor()])
        self.fallback = fallback

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.files[index]).convert("RGB")), index
        except OSError:
            if not self.fallback:
                raise
            return self[(index + 1) % len(self)]


def folder(root=None, transform=None):
    """As torchvision reads it, with the pipeline that everybody has."""
    crop = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])
    return datasets.ImageFolder(root or photos(), transform or crop)


def served(data, count=1, **named):
    epochs(DataLoader(data, 3, num_workers=2, **named), count)


def _truncate(root, number=4):
    file = sorted(root.rglob("*.jpg"))[number]
    file.write_bytes(file.read_bytes()[:-300])


def _turned(root, number=4):
    """One photograph gets an orientation: nobody who looks at a few others meets it."""
    file = sorted(root.rglob("*.jpg"))[number]
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(file).convert("RGB").save(file, exif=exif)


@case(hosts=2, always=True)
def truncated_files_loaded():
    root = own_photos()
    _truncate(root)
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    served(Files(root))


@case()
def truncated_files_loaded_native():
    root = own_photos()
    _truncate(root)
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    served(folder(root))


@case(hosts=2)
def truncated_files_else_another_sample():
    root = own_photos()
    _truncate(root)
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    served(Files(root, fallback=True))


@case()
def truncated_file_raises():
    root = own_photos()
    _truncate(root)
    served(Files(root))


@case()
def truncated_files_allowed_from_the_second_epoch():
    root = own_photos()
    _truncate(root)
    loader = DataLoader(Files(root, fallback=True), 3, num_workers=2)

    def before(epoch):
        ImageFile.LOAD_TRUNCATED_IMAGES = epoch == 1

    epochs(loader, 2, before=before)


@case(workers=2, always=True)
def most_pixels_lowered():
    Image.MAX_IMAGE_PIXELS = 2000
    served(folder())


@case()
def most_pixels_lowered_own():
    Image.MAX_IMAGE_PIXELS = 2000
    served(Files(photos()))


@case()
def most_pixels_a_warning_that_is_an_error():
    Image.MAX_IMAGE_PIXELS = 4000
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    served(Files(photos(), fallback=True))


class Raw(ImageFile.ImageFile):
    format = "BITSRAW"

    def _open(self):
        if self.fp.read(7) != b"BITSRAW":
            raise SyntaxError("not such a file")
        self._size, self._mode = (16, 16), "L"
        self.tile = [ImageFile._Tile("raw", (0, 0, 16, 16), 7, ("L", 0, 1))]


def _raw_files(root):
    for number, file in enumerate(sorted(root.rglob("*.jpg"))):
        if number % 2:
            pixels = np.full((16, 16), number, np.uint8).tobytes()
            file.with_suffix(".braw").write_bytes(b"BITSRAW" + pixels)
            file.unlink()
    Image.register_open(Raw.format, Raw, lambda start: start[:7] == b"BITSRAW")


@case(hosts=2, always=True)
def opener_registered():
    root = own_photos()
    _raw_files(root)
    served(Files(root))


@case()
def opener_registered_for_a_folder():
    root = own_photos()
    _raw_files(root)
    served(datasets.ImageFolder(root, Files(root).transform, is_valid_file=lambda path: True))


@case()
def extension_registered():
    Image.register_extension("JPEG", ".photo")
    looked(lambda i: Image.registered_extensions().get(".photo", "none"))


@case()
def preinit_instead_of_init():
    Image.preinit()
    known = sorted(Image.ID)
    looked(lambda i: str(sorted(Image.ID) == known))


@case()
def decoder_registered():
    class Ones(ImageFile.PyDecoder):
        def decode(self, buffer):
            self.set_as_raw(b"\x01" * (self.state.xsize * self.state.ysize))
            return -1, 0

    Image.register_decoder("bits_ones", Ones)
    looked(lambda i: Image.frombytes("L", (4, 4), b"\0" * 16, "bits_ones").tobytes())


_open = Image.open


def _open_upright(*args, **named):
    return ImageOps.exif_transpose(_open(*args, **named))


@case(hosts=2, always=True)
def open_replaced_native():
    root = own_photos()
    _turned(root)
    Image.open = _open_upright
    served(folder(root))


@case(hosts=2)
def open_replaced_own():
    root = own_photos()
    _turned(root)
    Image.open = _open_upright
    served(Files(root))


@case()
def open_replaced_between_epochs():
    root = own_photos()
    _turned(root)
    loader = DataLoader(folder(root), 3, num_workers=2)

    def before(epoch):
        Image.open = _open_upright if epoch else _open

    epochs(loader, 2, before=before)


@case()
def convert_replaced():
    plain = Image.Image.convert
    Image.Image.convert = lambda self, mode=None, *more: plain(
        ImageOps.invert(plain(self, "RGB")), mode
    )
    served(folder())


@case()
def resize_replaced():
    plain = Image.Image.resize
    Image.Image.resize = lambda self, size, *args, **named: plain(
        self, size, Image.Resampling.NEAREST
    )
    served(Files(photos()))


@case(hosts=2)
def normalize_replaced():
    F.normalize = lambda tensor, mean, std, inplace=False: tensor * 10
    transform = T.Compose([T.Resize((24, 24)), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])
    served(Files(photos(), transform))


@case(always=True)
def normalize_replaced_native():
    F.normalize = lambda tensor, mean, std, inplace=False: tensor * 10
    transform = T.Compose([T.Resize((24, 24)), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])
    served(folder(transform=transform))


@case()
def forward_of_a_transform_class_replaced():
    T.Resize.forward = lambda self, image: F.center_crop(image, [24, 24])
    served(Files(photos()))


@case(always=True)
def forward_of_a_transform_class_replaced_between_epochs():
    loader = DataLoader(folder(), 3, num_workers=2)
    plain = T.RandomHorizontalFlip.forward

    def before(epoch):
        T.RandomHorizontalFlip.forward = (lambda self, image: F.vflip(image)) if epoch else plain

    epochs(loader, 2, before=before)


@case()
def call_of_to_tensor_replaced():
    T.ToTensor.__call__ = lambda self, picture: torch.from_numpy(np.array(picture)[:2, :2])
    served(Files(photos()))


@case()
def get_params_replaced():
    T.RandomResizedCrop.get_params = staticmethod(lambda image, scale, ratio: (0, 0, 20, 20))
    served(folder())


@case()
def pil_loader_replaced():
    datasets.folder.pil_loader = lambda path: Image.open(path).convert("L")
    served(folder())


@case()
def default_loader_replaced():
    datasets.folder.default_loader = lambda path: Image.new("RGB", (30, 30), len(path))
    served(folder())


@case()
def image_backend():
    torchvision.set_image_backend("PIL")
    torchvision.disable_beta_transforms_warning()
    looked(lambda i: torchvision.get_image_backend())


@case()
def largest_block():
    ImageFile.MAXBLOCK = 1 << 20
    looked(lambda i: ImageFile.MAXBLOCK)


@case()
def thumbnail_without_gap():
    def look(i):
        picture = Image.open(sorted(photos().rglob("*.jpg"))[i])
        picture.thumbnail((24, 24), reducing_gap=None)
        return picture.convert("RGB").resize((8, 8)).tobytes()

    looked(look)


@case()
def thumbnail():
    def look(i):
        picture = Image.open(sorted(photos().rglob("*.jpg"))[i])
        picture.thumbnail((24, 24))
        return str(picture.size), picture.convert("RGB").resize((8, 8)).tobytes()

    looked(look)


@case()
def unchanged_picture_is_the_same_object():
    def look(i):
        picture = Image.open(sorted(photos().rglob("*.jpg"))[i])
        grey = T.RandomGrayscale(0.5)(picture)
        return str((grey is picture, getattr(grey, "format", "none")))

    looked(look)


@case()
def file_name_after_a_transform_that_did_nothing():
    def look(i):
        picture = T.RandomGrayscale(0.0)(Image.open(sorted(photos().rglob("*.jpg"))[i]))
        return picture.filename.rpartition("/")[2], picture.info.get("jfif_version")

    looked(look)


@case()
def exif_and_info():
    root = own_photos()
    _turned(root, 2)
    files = sorted(root.rglob("*.jpg"))
    looked(lambda i: (str(dict(Image.open(files[i]).getexif())), str(Image.open(files[i]).layers)))


@case()
def pictures_saved_again():
    def look(i):
        with io.BytesIO() as file:
            Image.open(sorted(photos().rglob("*.jpg"))[i]).resize((16, 16)).save(file, "PNG")
            return file.getvalue()

    looked(look)


@case()
def default_resampling_renamed():
    Image.Resampling.BILINEAR.note = "of this program"
    looked(lambda i: getattr(Image.Resampling.BILINEAR, "note", "none"))


@case()
def subclass_of_a_transform():
    class Twice(T.RandomHorizontalFlip):
        def forward(self, image):
            return super().forward(super().forward(image))

    served(folder(transform=T.Compose([T.Resize((24, 24)), Twice(), T.ToTensor()])), 2)


@case()
def pictures_in_a_pool_of_threads():
    from concurrent.futures import ThreadPoolExecutor

    files = sorted(photos().rglob("*.jpg"))

    def read(file):
        return np.asarray(Image.open(file).convert("RGB").resize((8, 8)))

    def look(i):
        with ThreadPoolExecutor(3) as pool:
            return np.stack(list(pool.map(read, files[i : i + 3])))

    looked(look)
    say(f"{len(files)} files")


if __name__ == "__main__":
    main()
