"""What mkdocs does to a page of docs/ before it is rendered."""

import pathlib
import posixpath
import re
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A link: the text, and a target that is no address and no anchor alone.
_LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files outside of docs/, also pictures, become their names: the site has the pages alone."""
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(match: re.Match[str]) -> str:
        text, target = match[1], match[2].partition("#")[0]
        place = posixpath.normpath(posixpath.join("docs", folder, target))
        outside = not (place + "/").startswith("docs/")
        if not outside and not (ROOT / place).is_dir():
            return match[0]
        if not (ROOT / place).exists():
            return match[0]  # mkdocs says that it is none
        return f"{text} (`{place}`)" if text.strip("`") != place else f"`{place}`"

    return _LINK.sub(replaced, markdown)
