"""Which objects there are: a bucket's own list (ListObjectsV2), page by page."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote
from xml.parsers import expat

from .names import PackedNames
from .order import ordered
from .store import Store

# Folders are listed side by side: a page of 1,000 names takes some 100 ms, nearly all of it waiting.
_AT_A_TIME = 16


@dataclass
class Page:
    """Whole names, not those below a prefix."""

    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)  # of the names, bytes
    folders: list[str] = field(default_factory=list)  # with a "/" at their end
    next: str = ""  # the token of the page after this one; empty: this is the last one


def parse_page(text: bytes) -> Page:
    """Raises ValueError: this is no list."""
    page, path, words = Page(), [], [""]
    is_list, encoded, more = False, False, False
    size = 0

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal is_list
        path.append(name.rpartition("}")[2])
        is_list = is_list or path == ["ListBucketResult"]
        words[0] = ""

    def data(more_text: str) -> None:
        words[0] += more_text

    def end(_: str) -> None:
        nonlocal encoded, more, size
        where, word = "/".join(path[1:]), words[0]
        path.pop()
        words[0] = ""
        if where == "Contents/Key":
            page.names.append(word)
        elif where == "Contents/Size":
            size = int(word)
        elif where == "Contents":
            page.sizes.append(size)
            size = 0
        elif where == "CommonPrefixes/Prefix":
            page.folders.append(word)
        elif where == "NextContinuationToken":
            page.next = word
        elif where == "EncodingType":
            encoded = word == "url"
        elif where == "IsTruncated":
            more = word == "true"

    def doctype(*_: Any) -> None:
        raise ValueError("the store's list declares a document type, which no list does")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = data, doctype
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ValueError(f"the store's list is no XML: {error}") from None
    if not is_list:
        raise ValueError("the store's answer is no list of objects")
    if encoded:
        page.names = [unquote(name.replace("+", " ")) for name in page.names]
        page.folders = [unquote(name.replace("+", " ")) for name in page.folders]
    if more and not page.next:
        raise ValueError("the store's list goes on, but says not where")
    page.next = page.next if more else ""
    return page


def pages(store: Store, prefix: str, delimiter: str = "") -> Iterator[Page]:
    """Of the names that begin with the prefix. Raises the client's errors, and parse_page's."""
    token = ""
    while True:
        query = {"encoding-type": "url", "list-type": "2", "prefix": prefix}
        if delimiter:
            query["delimiter"] = delimiter
        if token:
            query["continuation-token"] = token
        text = "&".join(f"{name}={quote(query[name], safe='-_.~')}" for name in sorted(query))
        page = parse_page(store.reader.list(text))
        yield page
        if not page.next:
            return
        if page.next == token:
            raise ValueError("the store's list leads back to the page before")
        token = page.next


def folders_of(store: Store) -> dict[str, PackedNames]:
    """For each folder right below the base its names, without the base, as torchvision orders the files
    of a class."""
    prefix = store.base.removeprefix("s3://").partition("/")[2]
    found = [folder for page in pages(store, prefix, "/") for folder in page.folders]

    def names_of(folder: str) -> PackedNames:
        # Each page's strings go before the next one comes.
        packed = [
            PackedNames.of(name[len(prefix) :] for name in page.names)
            for page in pages(store, folder)
        ]
        return ordered(PackedNames.joined(packed))

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        names = pool.map(names_of, found)
        return {folder[len(prefix) : -1]: of for folder, of in zip(found, names, strict=True)}
