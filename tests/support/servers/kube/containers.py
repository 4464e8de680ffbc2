"""Containers as processes of this host: no image, no isolation, but the signals of a kubelet."""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .objects import ApiError, Object, Store

_KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "ASAN_OPTIONS")
_REFERENCE = re.compile(r"\$(\$)?\(([-A-Za-z0-9_.]+)\)")
_MOST_LAST_WORDS = 2048


class Waits(Exception):
    """Why a container does not start, as a kubelet says it."""

    def __init__(self, reason: str, message: str = ""):
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass
class Container:
    """One that runs, or ran."""

    process: subprocess.Popen[bytes]
    log: Path
    says_last_words: bool

    def end(self, number: int) -> None:
        """A kubelet tells the first process alone, and a kill ends all."""
        if self.process.poll() is None and number != signal.SIGKILL:
            self.process.send_signal(number)
        elif number == signal.SIGKILL:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def terminated(self) -> Object | None:
        """The state of a container that has ended."""
        code = self.process.poll()
        if code is None:
            return None
        state = {"exitCode": code if code >= 0 else 128 - code, "reason": "Completed"}
        if code != 0:
            state["reason"] = "Error"
            if self.says_last_words:
                state["message"] = self.log.read_text(errors="replace")[-_MOST_LAST_WORDS:]
        return state


class Runtime:
    """Starts containers in a folder."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.images: dict[str, str] = {}  # name -> entry point
        self._folder, self._store = folder, store
        (folder / "logs").mkdir(parents=True, exist_ok=True)

    def start(self, pod: Object) -> Container:
        metadata, spec = pod["metadata"], pod["spec"]
        container = spec["containers"][0]
        if container["image"] not in self.images:
            raise Waits("ErrImagePull", f'image "{container["image"]}" not found')
        mounts = self._mounts(pod, container)
        variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
        for each in container.get("env", []):
            variables[each["name"]] = self._value(pod, each, variables, mounts)
        words = list(container.get("command") or [self.images[container["image"]]])
        words += container.get("args", [])
        words = [_moved(_expanded(word, variables), mounts) for word in words]
        log = self._folder / "logs" / metadata["name"]
        with open(log, "ab") as output:
            try:
                process = subprocess.Popen(
                    words, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
            except OSError as e:
                raise Waits("RunContainerError", f"exec: {e}") from None
        policy = container.get("terminationMessagePolicy", "File")
        return Container(process, log, policy == "FallbackToLogsOnError")

    def forget(self, pod: Object) -> None:
        shutil.rmtree(self._folder / "volumes" / pod["metadata"]["name"], ignore_errors=True)

    def _mounts(self, pod: Object, container: Object) -> dict[str, str]:
        """Path in the container -> folder here, of Secrets. Other volumes are not there."""
        volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
        mounts = {}
        for mount in container.get("volumeMounts", []):
            secret = volumes[mount["name"]].get("secret")
            if secret is None:
                continue
            name = secret["secretName"]
            try:
                files = self._store.get("secrets", pod["metadata"]["namespace"], name)["data"]
            except ApiError:
                why = f'MountVolume.SetUp failed: secret "{name}" not found'
                raise Waits("ContainerCreating", why) from None
            place = self._folder / "volumes" / pod["metadata"]["name"] / mount["name"]
            place.mkdir(parents=True, mode=0o700)
            for file, text in files.items():
                (place / file).touch(0o600)
                (place / file).write_text(text)
            mounts[mount["mountPath"]] = str(place)
        return mounts

    @staticmethod
    def _value(pod: Object, each: Object, variables: dict[str, str], mounts: dict[str, str]) -> str:
        if "value" in each:
            return _moved(_expanded(each["value"], variables), mounts)
        path = each["valueFrom"]["fieldRef"]["fieldPath"]
        known = {
            "metadata.name": pod["metadata"]["name"],
            "metadata.uid": pod["metadata"]["uid"],
            "metadata.namespace": pod["metadata"]["namespace"],
            "spec.nodeName": pod["spec"]["nodeName"],
        }
        return str(known[path])


def _expanded(text: str, variables: dict[str, str]) -> str:
    """$(NAME) is a variable's value, if it is there; $$(NAME) are these words."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return f"$({found[2]})"
        return variables.get(found[2], found[0])

    return _REFERENCE.sub(value, text)


def _moved(text: str, mounts: dict[str, str]) -> str:
    """Where a container has a mount, the process has a folder."""
    for inside, here in mounts.items():
        if text == inside or text.startswith(inside + "/"):
            return here + text[len(inside) :]
    return text
