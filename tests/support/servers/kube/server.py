"""The API by HTTPS: what is asked, by whom, and what it answers."""

import http.server
import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .cluster import Cluster
from .fields import check_pod
from .objects import ApiError, Object, Store
from .rights import Account, Asked, Rights

_GROUPS = {"pods": "", "deployments": "apps", "statefulsets": "apps"}
_KINDS = {"pods": "Pod", "deployments": "Deployment", "statefulsets": "StatefulSet"}
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_QUERY = {
    "list": {"labelSelector"},
    "watch": {"labelSelector", "watch", "allowWatchBookmarks", "timeoutSeconds", "resourceVersion"},
    "create": {"fieldValidation"},
}


@dataclass
class Fault:
    """What happens to the next requests of a verb on a resource."""

    verb: str
    resource: str
    # "answer": with `code`. "mute": it is done, and the connection closed without an answer. "drop": it
    # is not done, likewise. "hang": neither. "wrong": what is no JSON.
    how: str
    code: int = 500
    times: int = 1
    retry_after: int | None = None
    message: str = "a fault of the test's"


@dataclass
class Api:
    store: Store
    cluster: Cluster
    rights: Rights = field(default_factory=Rights)
    faults: list[Fault] = field(default_factory=list)
    most_pods: int | None = None  # the quota of the namespace
    strict: bool = True  # knows fieldValidation, as releases since 1.25 do
    calls: list[str] = field(default_factory=list)  # "create pods"
    stopped: bool = False

    def take_fault(self, asked: Asked) -> Fault | None:
        with self.store.changed:
            for fault in self.faults:
                if (fault.verb, fault.resource) == (asked.verb, asked.resource) and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    def create_pod(self, namespace: str, pod: Object, strict: bool) -> Object:
        check_pod(pod, strict and self.strict)
        pod["metadata"].pop("resourceVersion", None)
        spec = pod["spec"]
        spec.setdefault("restartPolicy", "Always")
        spec.setdefault("terminationGracePeriodSeconds", 30)
        spec.setdefault("dnsPolicy", "ClusterFirst")
        spec.setdefault("schedulerName", "default-scheduler")
        pod["status"] = {"phase": "Pending", "qosClass": "Guaranteed"}
        with self.store.changed:
            there = [
                one
                for one in self.store.list("pods", namespace)
                if one["status"]["phase"] in ("Pending", "Running")
            ]
            if self.most_pods is not None and len(there) >= self.most_pods:
                name = pod["metadata"].get("name") or pod["metadata"]["generateName"]
                raise ApiError(
                    403,
                    "Forbidden",
                    f'pods "{name}" is forbidden: exceeded quota: workers, requested: pods=1, '
                    f"used: pods={len(there)}, limited: pods={self.most_pods}",
                )
            return self.store.create("pods", namespace, pod)

    def delete_pod(self, namespace: str, name: str, options: Object) -> Object:
        known = {"apiVersion", "kind", "gracePeriodSeconds", "preconditions", "propagationPolicy"}
        if set(options) - known or options.get("kind", "DeleteOptions") != "DeleteOptions":
            raise ApiError(400, "BadRequest", f"no DeleteOptions: {sorted(options)}")
        with self.store.changed:
            pod = self.store.get("pods", namespace, name)
            wanted = options.get("preconditions", {}).get("uid", pod["metadata"]["uid"])
            if wanted != pod["metadata"]["uid"]:
                raise ApiError(
                    409,
                    "Conflict",
                    f'Operation cannot be fulfilled on Pod "{name}": the UID in the precondition '
                    f"({wanted}) does not match the UID in record ({pod['metadata']['uid']}). The "
                    "object might have been deleted and then recreated",
                )
            return self.cluster.delete(pod, options.get("gracePeriodSeconds"))

    def scale(self, resource: str, namespace: str, name: str) -> Object:
        """Zero replicas are left out, as the real server does."""
        owner = self.store.get(resource, namespace, name)
        replicas = owner["spec"].get("replicas", 0)
        labels = owner["spec"]["selector"]["matchLabels"]
        selector = ",".join(f"{k}={v}" for k, v in labels.items())
        there = len(self.store.list("pods", namespace, selector))
        return {
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": owner["metadata"],
            "spec": {"replicas": replicas} if replicas else {},
            "status": {"replicas": there, "selector": selector},
        }  # fmt: skip

    def patch_scale(self, resource: str, namespace: str, name: str, patch: Object) -> Object:
        replicas = patch.get("spec", {}).get("replicas")
        if set(patch) != {"spec"} or not isinstance(replicas, int) or replicas < 0:
            raise ApiError(422, "Invalid", f"Scale is invalid: spec.replicas: {replicas}")

        def change(owner: Object) -> None:
            owner["spec"]["replicas"] = replicas

        self.store.change(resource, namespace, name, change)
        return self.scale(resource, namespace, name)

    def patch_pod(self, namespace: str, name: str, patch: Object) -> Object:
        if set(patch) != {"metadata"} or set(patch["metadata"]) - {"annotations", "labels"}:
            raise ApiError(422, "Invalid", "pod updates may not change fields other than these")

        def merge(pod: Object) -> None:
            for part, values in patch["metadata"].items():
                pod["metadata"].setdefault(part, {}).update(values)

        return self.store.change("pods", namespace, name, merge)


class _Silent(Exception):
    """The connection ends here without an answer."""


def _handler(api: Api) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._serve()

        do_POST = do_PATCH = do_DELETE = do_PUT = do_GET

        def _serve(self) -> None:
            try:
                length = int(self.headers.get("Content-Length", 0))
                self._body = self.rfile.read(length)
                self._ask()
            except ApiError as e:
                self._answer(e.code, e.status(), e.retry_after)
            except (_Silent, OSError):
                self.close_connection = True

        def _ask(self) -> None:
            account = api.rights.who(self.headers.get("Authorization"))
            url = urlsplit(self.path)
            if (self.command, url.path) == ("POST", _REVIEWS):
                return self._review(account)
            query = dict(parse_qsl(url.query, strict_parsing=bool(url.query)))
            asked, subresource = self._asked(url.path, query)
            with api.store.changed:
                api.calls.append(f"{asked.verb} {asked.resource}")
            unknown = set(query) - _QUERY.get(asked.verb, set())
            if unknown:
                raise ApiError(400, "BadRequest", f"unknown parameters: {sorted(unknown)}")
            accepted = self.headers.get("Accept", "*/*")
            if "application/json" not in accepted and "*/*" not in accepted:
                raise ApiError(406, "NotAcceptable", "only application/json is answered")
            fault = api.take_fault(asked)
            if fault and fault.how == "answer":
                raise ApiError(fault.code, "Fault", fault.message, fault.retry_after)
            if fault and fault.how == "hang":
                while not api.stopped:
                    time.sleep(0.1)
            if fault and fault.how in ("drop", "hang"):
                raise _Silent
            api.rights.check(account, asked)
            if asked.verb == "watch":
                return self._watch(asked, query)
            answer, code = self._do(asked, subresource, query), 200
            if fault and fault.how == "mute":
                raise _Silent
            if fault and fault.how == "wrong":
                return self._send(200, b"<html>a proxy</html>")
            if asked.verb == "create":
                code = 201
            self._answer(code, answer)

        def _review(self, account: Account) -> None:
            """SelfSubjectAccessReview: each account may ask what it may do itself."""
            review = self._json("application/json")
            what = review["spec"]["resourceAttributes"]
            asked = Asked(what["verb"], what.get("group", ""), what["resource"], what["namespace"])
            allowed = api.rights.may(account, asked)
            self._answer(201, review | {"status": {"allowed": allowed}})

        def _asked(self, path: str, query: dict[str, str]) -> tuple[Asked, str]:
            parts = path.strip("/").split("/")
            group = "" if parts[:2] == ["api", "v1"] else "apps"
            parts = parts[2:] if group == "" else parts[3:] if parts[:3] == ["apis", "apps", "v1"] else []  # fmt: skip
            names = dict(enumerate(parts))
            resource, name, subresource = (names.get(i, "") for i in (2, 3, 4))
            known = names.get(0) == "namespaces" and _GROUPS.get(resource) == group
            verbs = {
                "GET": "get" if name else "watch" if query.get("watch") in ("1", "true") else "list",
                "POST": "create", "PATCH": "patch", "DELETE": "delete",
            }  # fmt: skip
            whole = {"GET": True, "POST": not name}.get(self.command, bool(name))
            if not known or self.command not in verbs or len(parts) > 5 or not whole:
                raise ApiError(404, "NotFound", "the server could not find the requested resource")
            if subresource and (resource == "pods" or subresource != "scale"):
                raise ApiError(404, "NotFound", "the server could not find the requested resource")
            full = resource + ("/" + subresource if subresource else "")
            return Asked(verbs[self.command], group, full, names[1], name), subresource

        def _do(self, asked: Asked, subresource: str, query: dict[str, str]) -> Object:
            resource, place, name = asked.resource.split("/")[0], asked.namespace, asked.name
            if asked.verb == "list":
                with api.store.changed:
                    selector = query.get("labelSelector", "")
                    return {
                        "kind": _KINDS[resource] + "List", "apiVersion": "v1",
                        "metadata": {"resourceVersion": str(api.store.version)},
                        # The list says once what they are.
                        "items": [
                            {k: v for k, v in one.items() if k not in ("kind", "apiVersion")}
                            for one in api.store.list(resource, place, selector)
                        ],
                    }  # fmt: skip
            if asked.verb == "get":
                scale = subresource == "scale"
                return api.scale(resource, place, name) if scale else api.store.get(resource, place, name)  # fmt: skip
            if asked.verb == "create" and resource == "pods":
                body = self._json("application/json")
                return api.create_pod(place, body, query.get("fieldValidation") == "Strict")
            if asked.verb == "delete" and resource == "pods":
                return api.delete_pod(place, name, self._json("application/json") if self._body else {})  # fmt: skip
            if asked.verb == "patch" and subresource == "scale":
                return api.patch_scale(resource, place, name, self._json("application/merge-patch+json"))  # fmt: skip
            if asked.verb == "patch" and resource == "pods":
                return api.patch_pod(place, name, self._json("application/merge-patch+json"))
            raise ApiError(405, "MethodNotAllowed", f"{asked.verb} is not there for {resource}")

        def _json(self, kind: str) -> Object:
            if self.headers.get("Content-Type") != kind:
                raise ApiError(415, "UnsupportedMediaType", f"the body must be {kind}")
            try:
                body = json.loads(self._body)
            except ValueError as e:
                raise ApiError(400, "BadRequest", f"the body is no JSON: {e}") from None
            if not isinstance(body, dict):
                raise ApiError(400, "BadRequest", "the body is no object")
            return body

        def _watch(self, asked: Asked, query: dict[str, str]) -> None:
            self.send_response_only(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            seconds = float(query.get("timeoutSeconds", 3600))
            since = int(query.get("resourceVersion", "0"))
            bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
            selector = query.get("labelSelector", "")
            cuts = api.store.cuts
            version = since
            for event in api.store.watch(asked.resource, asked.namespace, selector, since, seconds):
                if api.stopped:
                    raise _Silent
                if isinstance(event, int):
                    if not bookmarks or event == version:
                        continue
                    version = event
                    event = {
                        "type": "BOOKMARK",
                        "object": {
                            "kind": "Pod", "apiVersion": "v1", "spec": {"containers": None},
                            "metadata": {"resourceVersion": str(version), "creationTimestamp": None},
                            "status": {},
                        },
                    }  # fmt: skip
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
            if api.store.cuts != cuts:
                raise _Silent
            self.wfile.write(b"0\r\n\r\n")

        def _answer(self, code: int, value: Object, retry_after: int | None = None) -> None:
            self._send(code, json.dumps(value).encode(), retry_after)

        def _send(self, code: int, body: bytes, retry_after: int | None = None) -> None:
            self.send_response_only(code)
            if retry_after is not None:
                self.send_header("Retry-After", str(retry_after))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


class Server:
    """Serves on a port of 127.0.0.1, from a thread."""

    def __init__(self, api: Api, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._api = api
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
        self._server.daemon_threads = True
        # A client that stops in the middle of the handshake keeps its own thread alone.
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def stop(self) -> None:
        self._api.stopped = True
        self._api.store.cut()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
