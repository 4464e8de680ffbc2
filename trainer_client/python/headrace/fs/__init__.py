"""Objects as files, for code that opens paths by fsspec: pandas, Arrow, Hugging Face's data sets.

    fsspec.open("headrace+s3://bucket/key")
    fsspec.open("headrace+gs://bucket/key")
    fsspec.open("headrace+https://host/path")

fsspec finds these classes by its entry points. It is optional: nothing else of Headrace imports this.
"""

from .changed import ObjectChanged
from .gcs import GcsFileSystem
from .http import HttpFileSystem, HttpsFileSystem
from .s3 import S3FileSystem

__all__ = ["GcsFileSystem", "HttpFileSystem", "HttpsFileSystem", "ObjectChanged", "S3FileSystem"]
