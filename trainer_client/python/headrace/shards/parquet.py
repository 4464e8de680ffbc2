"""Parquet files with images in them. Their pages are compressed, and hold many rows: no row is a range."""

from collections.abc import Sequence
from typing import Any

from ..process.output import tell
from .naming import expand, is_pattern
from .places import FilePlace


def arrow_copy(said: Sequence[str]) -> Any:
    """A datasets.Dataset of all files, whose Arrow files Hugging Face's datasets keeps in its cache. Later
    calls find these, until a file has another time. Raises ValueError and FileNotFoundError."""
    try:
        import datasets
    except ImportError:
        raise ValueError(
            f"{said[0]}: to read Parquet takes the package datasets, which makes Arrow files of it"
        ) from None
    files = [name for one in said for name in expand(one)]
    files = [
        one for name in files for one in (FilePlace().named(name) if is_pattern(name) else [name])
    ]
    if not files:
        raise FileNotFoundError(f"there is no Parquet file called {', '.join(said)}")
    tell(
        f"headrace: {said[0]}{' and others' if len(said) > 1 else ''}: pages of Parquet are compressed, so "
        f"that samples are read from an Arrow copy in {datasets.config.HF_DATASETS_CACHE}"
    )
    return datasets.load_dataset("parquet", data_files=files, split="train")
