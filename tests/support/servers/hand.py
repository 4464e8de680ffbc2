"""A program: writes objects with boto3, as lines of JSON on its standard input say."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

sys.path.insert(0, str(Path(__file__).parents[2]))
from support.servers.s3_server import content  # noqa: E402

endpoint, key_id, secret, region, bucket = sys.argv[1:]
s3 = boto3.client(
    "s3",
    endpoint_url=endpoint,
    aws_access_key_id=key_id,
    aws_secret_access_key=secret,
    region_name=region,
    # As stores know it that are older than boto3's own checksums.
    config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
)


def make_bucket() -> None:
    there = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=bucket, **({} if region == "us-east-1" else there))


def put(key: str, size: int, seed: int = 0) -> str:
    return s3.put_object(Bucket=bucket, Key=key, Body=content(size, seed))["ETag"]


def put_file(key: str, path: str) -> None:
    s3.put_object(Bucket=bucket, Key=key, Body=Path(path).read_bytes())


def fill(prefix: str, count: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: put(f"{prefix}{i:05}", 1), range(count)))


def multipart(key: str, sizes: list[int]) -> str:
    """Its content is that of one object of all of the sizes. Returns the etag."""
    given = {"Bucket": bucket, "Key": key}
    upload = s3.create_multipart_upload(**given)["UploadId"]
    whole, parts, at = content(sum(sizes)), [], 0
    for number, size in enumerate(sizes, 1):
        body = whole[at : at + size]
        answer = s3.upload_part(**given, UploadId=upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": answer["ETag"]})
        at += size
    s3.complete_multipart_upload(**given, UploadId=upload, MultipartUpload={"Parts": parts})
    return s3.head_object(**given)["ETag"]  # not all tell it before


def delete(key: str) -> None:
    s3.delete_object(Bucket=bucket, Key=key)


for line in sys.stdin:
    what, how = json.loads(line)
    answer: dict[str, Any]
    try:
        answer = {"answer": globals()[what](**how)}
    except Exception as error:
        answer = {"error": f"{what} {how}: {error!r}"}
    print(json.dumps(answer), flush=True)
