"""Objects of GCS's buckets."""

from .s3 import S3FileSystem


class GcsFileSystem(S3FileSystem):
    """By GCS's interface for programs that know S3, with HMAC keys."""

    protocol = "headrace+gs"
    scheme = "gs"
