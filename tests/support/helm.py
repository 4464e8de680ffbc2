"""Renders the templates of a Helm chart, as far as deploy/helm uses Helm's language. All else is an error:

    {{ .Values.a.b }}  {{ .Release.Name }}  {{ .Release.Namespace }}  {{ .Chart.Version }}
    ... | quote    ... | toYaml | nindent 8    ... | int
    {{ if .Values.a }} ... {{ else }} ... {{ end }}    {{ if not .Values.a }}
    "-" beside the braces cuts the white space there, line ends too

Helm itself is not in Debian.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

_TAG = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)


class NotRendered(Exception):
    pass


def _pieces(text: str) -> list[tuple[str, str]]:
    """("text", ...) and ("tag", ...), with the white space that tags cut gone."""
    found: list[tuple[str, str]] = []
    at, cut = 0, False
    for tag in _TAG.finditer(text):
        plain = text[at : tag.start()]
        plain = plain.lstrip() if cut else plain
        found.append(("text", plain.rstrip() if tag[1] else plain))
        found.append(("tag", tag[2]))
        at, cut = tag.end(), bool(tag[3])
    found.append(("text", text[at:].lstrip() if cut else text[at:]))
    return found


def _look_up(path: str, scope: dict[str, Any]) -> Any:
    value: Any = scope
    if not re.fullmatch(r"(\.\w+)+", path):
        raise NotRendered(f"{path!r} is beyond this renderer")
    for name in path.strip(".").split("."):
        if not isinstance(value, dict) or name not in value:
            raise NotRendered(f"the chart has no value {path}")
        value = value[name]
    return value


def _quote(value: Any) -> str:
    return json.dumps(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _to_yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False).rstrip("\n")


_PIPES: dict[str, Callable[[Any], Any]] = {"quote": _quote, "toYaml": _to_yaml, "int": int}


def _value(words: str, scope: dict[str, Any]) -> str:
    first, *pipes = [part.strip() for part in words.split("|")]
    value = _look_up(first, scope)
    for pipe in pipes:
        if spaces := re.fullmatch(r"nindent (\d+)", pipe):
            indent = "\n" + " " * int(spaces[1])
            value = indent + indent.join(_text(value).splitlines())
        elif pipe in _PIPES:
            value = _PIPES[pipe](value)
        else:
            raise NotRendered(f"{pipe!r} is beyond this renderer")
    if isinstance(value, dict | list):
        raise NotRendered(f"{words}: a map or list needs toYaml")
    return _text(value)


def render(text: str, scope: dict[str, Any]) -> str:
    """The text of one template."""
    made: list[str] = []
    # Of each open `if`: whether its present branch is taken, and whether that may change.
    open_ifs: list[bool] = []
    for kind, piece in _pieces(text):
        taken = all(open_ifs)
        if kind == "text":
            made.append(piece if taken else "")
        elif condition := re.fullmatch(r"if (not )?(\S+)", piece):
            holds = bool(_look_up(condition[2], scope))
            open_ifs.append(holds != bool(condition[1]))
        elif piece == "else" and open_ifs:
            open_ifs[-1] = not open_ifs[-1]
        elif piece == "end" and open_ifs:
            open_ifs.pop()
        elif piece.startswith("/*"):
            continue
        elif taken:
            made.append(_value(piece, scope))
    if open_ifs:
        raise NotRendered("an if has no end")
    return "".join(made)


def rendered(
    chart: Path, name: str, namespace: str, values: dict[str, Any] | None = None
) -> list[dict]:
    """All objects that `helm template NAME --namespace NAMESPACE` makes, with the chart's values and these."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    scope = {
        "Values": _merged(yaml.safe_load((chart / "values.yaml").read_text()), values or {}),
        "Release": {"Name": name, "Namespace": namespace, "Service": "Helm"},
        "Chart": {
            "Name": about["name"],
            "Version": about["version"],
            "AppVersion": about["appVersion"],
        },
    }
    made = []
    for template in sorted((chart / "templates").glob("*.yaml")):
        made += [one for one in yaml.safe_load_all(render(template.read_text(), scope)) if one]
    return made


def _merged(below: Any, above: Any) -> Any:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    unknown = set(above) - set(below)
    if below and unknown:
        raise NotRendered(f"values.yaml has no {sorted(unknown)}")
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}
