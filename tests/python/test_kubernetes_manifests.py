"""The files of deploy/kubernetes: fields that Kubernetes has, and names that lead somewhere."""

import pytest
from support.headrace_program import headrace
from support.servers.kube.fields import KINDS, unknown
from support.servers.kubernetes import MANIFESTS, manifests

FILES = sorted(path.name for path in MANIFESTS.glob("*.yaml"))


def of_kind(name, kind):
    return [one for one in manifests(name) if one["kind"] == kind]


def containers(name):
    for one in manifests(name):
        template = one.get("spec", {}).get("template", {})
        yield from template.get("spec", {}).get("containers", [])


def test_there_are_files():
    assert FILES == ["coordinator.yaml", "network-policy.yaml", "rbac.yaml", "scale.yaml"]


@pytest.mark.parametrize("name", FILES)
def test_fields_are_kubernetes_own(name):
    for one in manifests(name):
        version, known = KINDS[one["kind"]]
        assert one["apiVersion"] == version
        assert unknown(one, known) == [], one["kind"]
        assert one["metadata"]["name"] and "namespace" not in one["metadata"], "kubectl -n says it"


def test_a_wrong_field_would_be_found():
    (found,) = of_kind("coordinator.yaml", "StatefulSet")
    found["spec"]["template"]["spec"]["containers"][0]["arg"] = []
    found["spec"]["replicas"] = "1"
    wrong = unknown(found, KINDS["StatefulSet"][1])
    assert wrong == ["spec.replicas: str", "spec.template.spec.containers[0].arg"]


@pytest.mark.parametrize("name", ["coordinator.yaml", "scale.yaml"])
def test_containers_have_few_rights_and_no_secret_in_words(name):
    for container in containers(name):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert container["image"] == "headrace-worker" and "command" not in container
        assert not any("key=" in word or "token=" in word for word in container["args"])
        variables = {one["name"]: one.get("value") for one in container["env"]}
        assert variables["HEADRACE_KEYS"] == "/etc/headrace/keys"


@pytest.mark.parametrize("name", ["coordinator.yaml", "scale.yaml"])
def test_options_are_headraces(name):
    """Each is one that its subcommand has."""
    for container in containers(name):
        subcommand, *options = container["args"]
        told = headrace(subcommand, "--help")
        assert told.returncode == 0
        for option in options:
            assert option.partition("=")[0] + " " in told.stdout, option


def test_names_lead_somewhere():
    (service,) = of_kind("coordinator.yaml", "Service")
    (workload,) = of_kind("coordinator.yaml", "StatefulSet")
    (binding,) = of_kind("rbac.yaml", "RoleBinding")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    words = workload["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--advertise={service['metadata']['name']}" in words
    assert f"--kubernetes-owner=statefulset/{workload['metadata']['name']}" in words
    account = workload["spec"]["template"]["spec"]["serviceAccountName"]
    assert [one["name"] for one in binding["subjects"]] == [account]
    (rule,) = [r for r in of_kind("rbac.yaml", "Role")[0]["rules"] if "apps" in r["apiGroups"]]
    assert rule["resourceNames"] == [workload["metadata"]["name"]]
    (scale,) = [r for r in of_kind("scale.yaml", "Role")[0]["rules"] if "apps" in r["apiGroups"]]
    (deployment,) = of_kind("scale.yaml", "Deployment")
    assert scale["resourceNames"] == [deployment["metadata"]["name"]]
