"""docs/reference/report.md names each key of a report, and no other."""

import dataclasses
import pathlib
import re

from headrace.service.report import WAIT_CAUSES, LoaderReport, Report

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "report.md"


def told(section: str) -> set[str]:
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_page_has_the_keys_of_a_report():
    page = PAGE.read_text()
    whole, _, rest = page.partition("## A loader")
    loader, _, _ = rest.partition("## The JSON of commands")
    assert told(whole) == set(Report().as_dict())
    assert told(loader) == {field.name for field in dataclasses.fields(LoaderReport)}
    for cause in WAIT_CAUSES:
        assert f"`{cause}`" in loader
