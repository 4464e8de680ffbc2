"""What deploy/metrics holds: alerts that fire when they should, and queries of metrics that there are."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "metrics"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def promtool(*words, **more):
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr


def documented() -> set[str]:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    return set(re.findall(r"^\| `(headrace_\w+)`", page, re.MULTILINE))


def test_alerts_fire_when_they_should_and_only_then():
    promtool("test", "rules", "alerts_test.yml", cwd=FOLDER)


def test_each_alert_is_tested():
    rules = re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yml").read_text())
    tested = (FOLDER / "alerts_test.yml").read_text()
    for name in rules:
        assert len(re.findall(rf"alertname: {name}\b", tested)) >= 2, name  # silent, and firing


def test_the_example_of_a_configuration_is_one():
    promtool("check", "config", FOLDER / "prometheus.yml")


def test_the_dashboard_s_queries_are_queries(tmp_path):
    rules = tmp_path / "rules.yml"
    lines = [f"      - {{record: 'q:{k}', expr: {json.dumps(q)}}}" for k, q in enumerate(QUERIES)]
    rules.write_text("groups:\n  - name: dashboard\n    rules:\n" + "\n".join(lines) + "\n")
    promtool("check", "rules", rules)


@pytest.mark.parametrize("text", [*QUERIES, (FOLDER / "alerts.yml").read_text()])
def test_queries_name_metrics_that_there_are(text):
    named = set(re.findall(r"\bheadrace_\w+", text))
    assert named and named <= documented()


def test_panels_do_not_lie_on_each_other():
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (column, row)
        for place in places
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)) and max(column for column, _ in cells) == 23
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)
