"""Nodes for a test of Ray's autoscaler: processes of this host in place of a cloud's machines.

Ray's own double of a cloud gives its nodes no memory, and actors of a pool hold some. Runs with Ray's
interpreter, in the autoscaler's process: its settings name this class (`ray_cluster.py`)."""

from typing import Any

from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider


class Nodes(FakeMultiNodeProvider):
    def __init__(self, provider_config: dict[str, Any], cluster_name: str) -> None:
        super().__init__(provider_config, cluster_name)
        self._memory = provider_config["memory"]

    def _create_node_with_resources_and_labels(
        self, node_config: Any, tags: Any, count: int, resources: dict[str, Any], labels: Any
    ) -> None:
        import ray._private.parameter

        params = ray._private.parameter.RayParams

        def with_memory(**fields: Any) -> Any:
            return params(memory=self._memory, **fields)

        ray._private.parameter.RayParams = with_memory
        try:
            rest = {name: amount for name, amount in resources.items() if name != "memory"}
            super()._create_node_with_resources_and_labels(node_config, tags, count, rest, labels)
        finally:
            ray._private.parameter.RayParams = params
