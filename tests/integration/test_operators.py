"""`headrace operators`: the registry, as text and as JSON."""

import json
import re
from pathlib import Path

from support.headrace_program import headrace, refused

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "operators.md"


def told():
    return {one["name"]: one for one in json.loads(headrace("operators", "--json").stdout)}


def test_operators_are_those_of_the_page_with_all_arguments():
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    page = {
        section.split("\n", 1)[0]: re.findall(r"^\| (\w+) \|", section, re.MULTILINE)[
            1:
        ]  # without the head
        for section in sections
    }
    assert {name: [a["name"] for a in one["arguments"]] for name, one in told().items()} == page


def test_one_operator_has_types_ranges_units_defaults_and_draws():
    crop = json.loads(headrace("operators", "random_resized_crop", "--json").stdout)
    assert crop == told()["random_resized_crop"]
    assert "uniform_" in crop["draws"]
    size, *_ = crop["arguments"]
    assert (size["type"], size["unit"], size["required"]) == ("integer or integers", "pixels", True)
    assert (size["least"], size["most"], size["counts"]) == (1, 1 << 20, [1, 2])
    scale = next(a for a in crop["arguments"] if a["name"] == "scale")
    assert scale["default"] == [0.08, 1.0]
    text = headrace("operators", "random_resized_crop").stdout
    assert "size: integer or integers, 1..1048576, 1 or 2 values (pixels), required" in text


def test_the_list_has_a_line_for_each():
    lines = headrace("operators").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(told())


def test_an_operator_that_is_none_is_refused():
    refused(headrace("operators", "resise"), "no operator resise")
