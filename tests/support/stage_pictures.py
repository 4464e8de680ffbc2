"""Pictures for tests of PIL's interface in Python stages, as PIL makes them and as a host does."""

import io
import sys

from PIL import Image

from support.photos import encode_photo

SEED = 20261121


def enable(*kept):
    """Enables them as in a host while it makes a batch."""
    from headrace.stage import images

    images.enable(list(kept))
    images._current.on = True
    return images


def deferred_class(name):
    return getattr(sys.modules["headrace.stage.deferred"], name)


def photo(rng, sides=(1, 300), **options):
    height, width = (rng.randint(*sides) for _ in range(2))
    return encode_photo(height, width, rng.randrange(10**6), **options)


def plain(file, mode="RGB"):
    """Makes it with PIL alone, whatever is enabled."""
    image = Image.open(io.BytesIO(file))
    image.load()
    return Image.Image.convert(image, mode)
