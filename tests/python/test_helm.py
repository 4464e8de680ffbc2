"""The Helm chart makes what deploy/kubernetes has in plain YAML. A small renderer stands for Helm, which Debian
does not have: it refuses what it does not know, so the chart stays within it (support/helm.py)."""

from pathlib import Path

import pytest
import tomllib
import yaml
from support import helm

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "headrace"
PLAIN = ROOT / "deploy" / "kubernetes"


def named(objects):
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def container(objects, name="headrace"):
    (made,) = named(objects)["StatefulSet", name]["spec"]["template"]["spec"]["containers"]
    return made


def test_with_its_own_values_it_is_the_plain_yaml():
    if not PLAIN.is_dir():
        pytest.skip("deploy/kubernetes is not in this tree")
    plain = []
    for name in ("coordinator", "rbac", "network-policy"):
        plain += yaml.safe_load_all((PLAIN / f"{name}.yaml").read_text())
    assert named(helm.rendered(CHART, "headrace", "headrace")) == named(plain)


def test_all_names_are_the_releases():
    """Two releases in one namespace do not meet."""
    made = helm.rendered(CHART, "other", "training")
    assert len(made) == len(named(made)) == 8
    for kind, name in named(made):
        assert name in ("other", "other-coordinator", "other-workers"), (kind, name)
    arguments = container(made, "other")["args"]
    assert "--advertise=other" in arguments and "--kubernetes-owner=statefulset/other" in arguments
    role = named(made)["Role", "other"]
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["other"]]
    assert "headrace" not in str(role)


def test_values_reach_what_they_are_about():
    values = {
        "image": "registry.example/headrace:0.1.0",
        "imagePullSecrets": [{"name": "registry"}],
        "keys": {"workerSecret": "theirs"},
        "pool": {"maxWorkers": 40, "options": ["--kubernetes-labels=a=b"]},
        "coordinator": {"options": ["--policy=sjf"], "storageClass": "fast", "storage": "5Gi"},
        "networkPolicy": {"enabled": False},
    }
    made = helm.rendered(CHART, "headrace", "headrace", values)
    assert not any(one["kind"] == "NetworkPolicy" for one in made)
    one = container(made)
    assert one["image"] == values["image"]
    assert {"--kubernetes-image=registry.example/headrace:0.1.0", "--max-workers=40"} <= set(
        one["args"]
    )
    assert "--kubernetes-keys-secret=theirs" in one["args"]
    assert one["args"][-2:] == ["--kubernetes-labels=a=b", "--policy=sjf"]
    spec = named(made)["StatefulSet", "headrace"]["spec"]
    assert spec["template"]["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == "5Gi"


def test_the_coordinators_rights_are_as_few_as_can_be():
    made = helm.rendered(CHART, "headrace", "headrace")
    spec = named(made)["StatefulSet", "headrace"]["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    rights = container(made)["securityContext"]
    assert rights["readOnlyRootFilesystem"] is True and rights["capabilities"] == {"drop": ["ALL"]}
    assert rights["allowPrivilegeEscalation"] is False
    assert spec["volumes"][0]["secret"]["defaultMode"] == 0o440
    assert not [one for one in made if one["kind"].startswith("Cluster")]


def test_the_chart_is_of_this_release():
    with open(ROOT / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == version


SCOPE = {"Values": {"yes": True, "no": False, "list": ["a", "b: c"], "text": "1e3"}}


@pytest.mark.parametrize(
    ("template", "made"),
    [
        ("x: {{ .Values.text | quote }}", 'x: "1e3"'),
        ("a\n{{- if .Values.no }}\nb\n{{- else }}\nc\n{{- end }}\nd", "a\nc\nd"),
        ("a\n{{- if not .Values.no }}\nb\n{{- end }}", "a\nb"),
        ("a\n{{- if .Values.no }}{{ if .Values.yes }}b{{ else }}c{{ end }}{{- end }}", "a"),
        ("x: {{ .Values.list | toYaml | nindent 2 }}", "x: \n  - a\n  - 'b: c'"),
        ("a {{- /* said to nobody */ -}} b", "ab"),
    ],
)
def test_the_renderer_does_as_helm(template, made):
    assert helm.render(template, SCOPE) == made


@pytest.mark.parametrize(
    "template",
    [
        "{{ range .Values.list }}",
        "{{ .Values.none }}",
        "{{ .Values.text | upper }}",
        "{{ .Values.list }}",
    ]
    + ['{{ include "a" . }}', "{{ if .Values.yes }}", "{{ end }}", "{{ $x := 1 }}"],
)
def test_what_the_renderer_does_not_know_it_refuses(template):
    with pytest.raises(helm.NotRendered):
        helm.render(template, SCOPE)


def test_a_value_that_the_chart_does_not_have_is_refused():
    """Helm takes it without a word, and the chart does nothing with it."""
    with pytest.raises(helm.NotRendered, match="maxWorker"):
        helm.rendered(CHART, "headrace", "headrace", {"pool": {"maxWorker": 3}})
