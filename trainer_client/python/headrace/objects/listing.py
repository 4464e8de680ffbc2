"""Which objects there are: a bucket's own list (ListObjectsV2), page by page."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from html import unescape
from typing import Any
from urllib.parse import quote, unquote
from xml.parsers import expat

from ..records import dataclass
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


# A page as nearly all stores write it: each element begins and ends on its own, nothing is declared.
# In it is neither a control character, which XML has none of, nor a reference to a character by its number.
_HEAD = re.compile(
    rb"""(?:<\?xml\ version=["']1.0["'](?:\ encoding=["'](?:UTF|utf)-8["'])?\ ?\?>)?\s*
    <ListBucketResult(?:\ [^<>]*)?>([^\0-\x08\x0b-\x1f]*)</ListBucketResult>\s*""",
    re.VERBOSE,
)
_ENTRY = re.compile(
    rb"<Contents>(?:<(?!Key>)(\w+)>[^<]*</\1>)*<Key>([^<]*)</Key>"
    rb"(?:<(?!Size>)(\w+)>[^<]*</\3>)*<Size>(\d+)</Size>"
    rb"(?:<(\w+)>(?:[^<]*|(?:<(\w+)>[^<]*</\6>)*)</\5>)*</Contents>"
)
_FOLDER = re.compile(rb"<CommonPrefixes><Prefix>([^<]*)</Prefix></CommonPrefixes>")
_FIELD = re.compile(rb"<(\w+)(?:/>|>([^<]*)</\1>)")


def parse_page(text: bytes) -> Page:
    """Raises ValueError: this is no list."""
    return _parse_plain(text) or parse_any_page(text)


def _parse_plain(text: bytes) -> Page | None:
    """A page that is written as expected, in a third of the time. None: it is not."""
    whole = _HEAD.fullmatch(text)
    if whole is None or b"<!" in text:
        return None
    fields: dict[bytes, bytes] = {}
    names: list[bytes] = []
    page, folders, rest = Page(), [], whole[1]
    at = 0
    while at < len(rest):
        if rest.startswith(b"<Contents>", at):
            if (found := _ENTRY.match(rest, at)) is None:
                return None
            names.append(found[2])
            page.sizes.append(int(found[4]))
        elif rest.startswith(b"<CommonPrefixes>", at):
            if (found := _FOLDER.match(rest, at)) is None:
                return None
            folders.append(found[1])
        else:
            if (found := _FIELD.match(rest, at)) is None:
                return None
            fields[found[1]] = found[2] or b""
        at = found.end()
    token = fields.get(b"NextContinuationToken", b"")
    if b"&#" in b"".join([*names, *folders, token]):
        return None  # what HTML means by some of them is not what XML does
    try:
        page.names, page.folders = _texts(names), _texts(folders)
        page.next = unescape(token.decode())
    except UnicodeDecodeError:
        return None
    return _finished(
        page, fields.get(b"EncodingType") == b"url", fields.get(b"IsTruncated") == b"true"
    )


def _texts(words: list[bytes]) -> list[str]:
    """All together: most hold nothing that is to be undone."""
    text = b"\n".join(words).decode()
    if "&" in text or text.count("\n") != max(0, len(words) - 1):
        return [unescape(word.decode()) for word in words]
    return text.split("\n") if words else []


def parse_any_page(text: bytes) -> Page:
    """Any XML. Raises ValueError: this is no list."""
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
    return _finished(page, encoded, more)


def _finished(page: Page, encoded: bool, more: bool) -> Page:
    """With names as they are, and the way on. Raises ValueError."""
    if encoded:
        page.names = [_decoded(name) for name in page.names]
        page.folders = [_decoded(name) for name in page.folders]
    if more and not page.next:
        raise ValueError("the store's list goes on, but says not where")
    page.next = page.next if more else ""
    return page


def _decoded(name: str) -> str:
    return unquote(name.replace("+", " ")) if "%" in name or "+" in name else name


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
    prefix = store.prefix
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
