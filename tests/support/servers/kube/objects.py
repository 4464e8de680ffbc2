"""Objects with resource versions, and who watches them."""

import copy
import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

Object = dict[str, Any]
# Of names that the server makes up: no vowels and no digits that look like letters.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class ApiError(Exception):
    """Becomes a Status object, as the API server's own errors do."""

    def __init__(self, code: int, reason: str, message: str, retry_after: int | None = None):
        super().__init__(message)
        self.code, self.reason, self.message, self.retry_after = code, reason, message, retry_after

    def status(self) -> Object:
        wait = self.retry_after
        details = {} if wait is None else {"details": {"retryAfterSeconds": wait}}
        return {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        } | details  # fmt: skip


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def selects(selector: str, labels: dict[str, str]) -> bool:
    """Equality alone: "a=1,b==2,c!=3"."""
    for part in filter(None, selector.split(",")):
        name, _, value = part.replace("==", "=").partition("=")
        if name.endswith("!"):
            if labels.get(name[:-1]) == value:
                return False
        elif labels.get(name) != value:
            return False
    return True


class Store:
    """All objects by (resource, namespace, name). Its lock is everybody's."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.version = 100
        self.oldest = 100  # a watch from before this has expired
        self.cuts = 0
        self._history: list[tuple[int, str, str, str, Object]] = []
        self._names = itertools.count(1)

    def list(self, resource: str, namespace: str, selector: str = "") -> list[Object]:
        with self.changed:
            return [
                copy.deepcopy(found)
                for (kind, place, _), found in sorted(self.objects.items())
                if kind == resource
                and place == namespace
                and selects(selector, found["metadata"].get("labels", {}))
            ]

    def get(self, resource: str, namespace: str, name: str) -> Object:
        with self.changed:
            found = self.objects.get((resource, namespace, name))
            if found is None:
                raise ApiError(404, "NotFound", f'{resource} "{name}" not found')
            return copy.deepcopy(found)

    def create(self, resource: str, namespace: str, made: Object) -> Object:
        with self.changed:
            metadata = made["metadata"]
            if not metadata.get("name"):
                number = next(self._names) * 7919
                drawn = "".join(_LETTERS[number // 27**i % 27] for i in range(5))
                metadata["name"] = metadata["generateName"][:58] + drawn
            key = (resource, namespace, metadata["name"])
            if key in self.objects:
                raise ApiError(
                    409, "AlreadyExists", f'{resource} "{metadata["name"]}" already exists'
                )
            metadata |= {
                "namespace": namespace, "uid": str(uuid.uuid4()), "creationTimestamp": now()
            }  # fmt: skip
            return self._put("ADDED", key, made)

    def change(
        self, resource: str, namespace: str, name: str, how: Callable[[Object], None]
    ) -> Object:
        """`how` changes a copy. A change of nothing has no version."""
        with self.changed:
            before = self.get(resource, namespace, name)
            after = copy.deepcopy(before)
            how(after)
            if after == before:
                return before
            return self._put("MODIFIED", (resource, namespace, name), after)

    def remove(self, resource: str, namespace: str, name: str) -> Object:
        with self.changed:
            gone = self.get(resource, namespace, name)
            if "deletionGracePeriodSeconds" in gone["metadata"]:
                gone["metadata"]["deletionGracePeriodSeconds"] = 0
            del self.objects[resource, namespace, name]
            return self._put("DELETED", (resource, namespace, name), gone, kept=False)

    def _put(
        self, event: str, key: tuple[str, str, str], value: Object, kept: bool = True
    ) -> Object:
        self.version += 1
        value["metadata"]["resourceVersion"] = str(self.version)
        if kept:
            self.objects[key] = value
        self._history.append((self.version, event, key[0], key[1], copy.deepcopy(value)))
        self.changed.notify_all()
        return copy.deepcopy(value)

    def forget_history(self) -> None:
        """As etcd does now and then: watches from before now have expired."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self._history.clear()
            self.cuts += 1
            self.changed.notify_all()

    def cut(self) -> None:
        """Ends all watches, without a word."""
        with self.changed:
            self.cuts += 1
            self.changed.notify_all()

    def watch(
        self, resource: str, namespace: str, selector: str, since: int, seconds: float
    ) -> Iterator[Object | int]:
        """Events after the version; the last version where there was none for a while. Ends by time or a
        cut."""
        cuts = self.cuts
        if since < self.oldest:
            error = ApiError(410, "Expired", f"too old resource version: {since} ({self.oldest})")
            yield {"type": "ERROR", "object": error.status()}
            return
        waited = 0.0
        while waited < seconds:
            with self.changed:
                new = [one for one in self._history if one[0] > since]
                if not new and self.cuts == cuts:
                    self.changed.wait(0.5)
                    waited += 0.5
                if self.cuts != cuts:
                    return
                new = [one for one in self._history if one[0] > since]
            for version, event, kind, place, value in new:
                since = version
                mine = kind == resource and place == namespace
                if mine and selects(selector, value["metadata"].get("labels", {})):
                    yield {"type": event, "object": value}
            if not new:
                yield since
