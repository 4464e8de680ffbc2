"""Between a coordinator and a Ray cluster: one order a line comes in, one event a line goes out, as JSON.

The coordinator runs this text with an interpreter that has Ray (--ray-python). Each worker is an actor of
its own, detached and with a name, so it outlives this process, and the next one finds it. The actor holds
the worker's resources, and runs it as its child process.

The first line has the settings. Then come orders, {"do": "start", "name": NAME}:

  start  a worker of that name, where there is none
  term   SIGTERM to it; where Ray has not started it, the request is taken back
  kill   likewise with SIGKILL
  stop   all are to leave, and this process ends after them. At the end of its input it ends alone.

Events, {"is": "ended", "name": NAME, "how": TEXT, "cpu": SECONDS}:

  listed   "members": the names of what was found, once, before all else
  queued   "why": Ray has not started it for some seconds
  running  "node"
  leaving  "why": Ray takes its node away, and it was told to leave
  ended    "how", "cpu"
  refused  "why": Ray does not take such a request
  trouble  "why": the cluster is not reached; this process ends

This file alone uses the package `ray`. It runs with Python 3.9 and later.
"""

import json
import os
import queue
import sys
import threading
import time

DRAIN_LOOK_S = 2.0
AGAIN_S = 2.0  # before an actor that could not be reached is asked again
PATIENT_S = 5.0  # before a worker counts as one that waits
STOP_S = 25.0  # what workers may take to leave when the coordinator ends
UNHEARD_S = 30.0  # an actor that cannot be reached for so long is killed when it is to end


class Worker:
    """What an actor is. Ray runs its methods one after the other, on its process's main thread."""

    def __init__(self, command, variables):
        import collections
        import ctypes
        import os
        import signal
        import subprocess
        import threading

        def tied():
            # The worker gets SIGTERM, and leaves in order, when this actor ends in whatever way.
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())

        self._last = collections.deque(maxlen=5)
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=tied,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        threading.Thread(target=self._leave, daemon=True).start()

    def _read(self):
        """Passes on what the worker says: Ray keeps it in the actor's log."""
        for line in self._process.stdout:
            text = line.decode(errors="replace")
            self._last.append(text.strip())
            print(text, end="", flush=True)

    def _leave(self):
        """Gives the resources back, though nobody may be there to say so. Its last words can be asked for
        ten seconds."""
        import os
        import time

        self._process.wait()
        time.sleep(10)
        os._exit(0)

    def where(self):
        import ray

        return ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address()

    def look(self):
        """None: it has run for a second. Otherwise how it has ended, and the CPU time that it has used."""
        import resource
        import subprocess

        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(1)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        how = f"ended with status {code}" if code >= 0 else f"was killed by signal {-code}"
        said = "; ".join(self._last)[-400:]
        return (how + (f": {said}" if code and said else ""), used.ru_utime + used.ru_stime)

    def signal(self, number):
        self._process.send_signal(number)


class Member:
    def __init__(self, actor):
        self.actor = actor
        self.asked_now = actor.where.remote()  # what it has not answered
        self.again_at = None  # when it is asked again; it could not be reached
        self.node = None  # the id of its node, once it runs
        self.asked = time.monotonic()
        self.told_to_leave = False
        self.why = None
        self.kill_at = None  # when Ray is to end the actor that does not answer


class Helper:
    def __init__(self, ray, out, settings):
        self._ray = ray
        self._out = out
        self._settings = settings
        self._members = {}
        self._orders = queue.Queue()
        self._looked_for_drains = 0.0
        self._told_why = 0.0
        self._class = ray.remote(Worker)

    def say(self, **event):
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()

    def read_orders(self):
        for line in sys.stdin:
            self._orders.put(json.loads(line))
        self._orders.put({"do": "leave"})

    def begin(self):
        """Finds what a helper before this one has left."""
        prefix = self._settings["pool"] + "."
        names = self._ray.util.list_named_actors()
        for name in sorted(names):
            if name.startswith(prefix):
                try:
                    self._take(name, self._ray.get_actor(name))
                except ValueError:  # it has ended meanwhile
                    continue
        self.say(**{"is": "listed", "members": list(self._members)})

    def _take(self, name, actor):
        self._members[name] = Member(actor)

    def _start(self, name):
        if name in self._members:
            return
        settings = self._settings
        options = {
            "name": name,
            "lifetime": "detached",
            "get_if_exists": True,
            "max_restarts": 0,
            "num_cpus": settings["cores"],
            "memory": settings["memory"],
            "resources": settings["resources"] or None,
            # Ray's own is 15: such a worker would starve beside whatever else runs on its node, though
            # its CPUs are reserved. Ray's jobs set it likewise.
            "runtime_env": {"env_vars": {"RAY_worker_niceness": "0"}},
        }
        if settings["labels"]:
            options["label_selector"] = settings["labels"]
        command = [*settings["command"], "--pool-member", name]
        try:
            actor = self._class.options(**options).remote(command, settings["variables"])
        except Exception as error:  # what Ray refuses it says by many kinds of errors
            self.say(**{"is": "refused", "name": name, "why": _text(error)})
            return
        self._take(name, actor)

    def obey(self, order):
        """False: this process is to end."""
        what, name = order["do"], order.get("name")
        if what == "start":
            self._start(name)
        elif what == "term":
            self._signal(name, 15)
        elif what == "kill":
            self._signal(name, 9)
        elif what == "stop":
            self._stop()
            return False
        return what != "leave"

    def _signal(self, name, number):
        """Of one that Ray has not started, the request is taken back."""
        member = self._members.get(name)
        if member is None:
            return
        if member.node is None:
            self._end(name, "it was taken back", 0.0)
            return
        member.told_to_leave = True
        member.actor.signal.remote(number)
        if number == 9:
            member.kill_at = time.monotonic() + UNHEARD_S

    def _stop(self):
        for name in list(self._members):
            self._signal(name, 15)
        ends = time.monotonic() + STOP_S
        while self._members and time.monotonic() < ends:
            self.watch(0.2)
        for name in list(self._members):
            self._end(name, "was killed", 0.0)

    def _end(self, name, how, cpu):
        member = self._members.pop(name)
        try:
            self._ray.kill(member.actor, no_restart=True)
        except Exception:  # it is dead
            pass
        self.say(**{"is": "ended", "name": name, "how": how, "cpu": cpu})

    def watch(self, patience):
        """Tells what has become of the members within that time."""
        asked = {
            member.asked_now: name
            for name, member in self._members.items()
            if member.again_at is None
        }
        if not asked:
            time.sleep(patience)
            return
        ready, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=patience)
        for reference in ready:
            self._heard(asked[reference], reference)

    def _heard(self, name, reference):
        member = self._members[name]
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.ActorUnavailableError:
            member.again_at = time.monotonic() + AGAIN_S  # its node may come back
            return
        except Exception as error:
            self._end(name, _text(error), 0.0)
            return
        if member.node is None:
            member.node, place = answer
            self.say(**{"is": "running", "name": name, "node": place})
        elif answer is not None:
            self._end(name, *answer)
            return
        self._ask(member)

    def _ask(self, member):
        member.again_at = None
        actor = member.actor
        member.asked_now = (actor.where if member.node is None else actor.look).remote()

    def look_around(self):
        now = time.monotonic()
        for name, member in list(self._members.items()):
            if member.again_at is not None and now > member.again_at:
                self._ask(member)
            if member.kill_at is not None and now > member.kill_at:
                self._end(name, "was killed", 0.0)
        if now - self._looked_for_drains >= DRAIN_LOOK_S:
            self._looked_for_drains = now
            self._look_for_drains()
        if now - self._told_why >= PATIENT_S:
            self._told_why = now
            self._tell_why_they_wait()

    def _look_for_drains(self):
        """Nodes that Ray is to give back: a spot instance that ends, an autoscaler, `ray drain-node`.

        No public function tells of them. Where this one is not there, workers have no notice."""
        try:
            from ray._private.state import state

            draining = state.get_draining_nodes()
        except Exception:
            return
        for name, member in list(self._members.items()):
            if member.node in draining and not member.told_to_leave:
                self.say(**{"is": "leaving", "name": name, "why": "its node is drained"})
                self._signal(name, 15)

    def _tell_why_they_wait(self):
        late = time.monotonic() - PATIENT_S
        waiting = {n: m for n, m in self._members.items() if m.node is None and m.asked < late}
        if not waiting:
            return
        wanted = {"CPU": self._settings["cores"], "memory": self._settings["memory"]}
        wanted.update(self._settings["resources"])
        free = self._ray.available_resources()
        largest = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        some = any(all(node.get(k, 0) >= v for k, v in wanted.items()) for node in largest)
        why = (
            f"Ray has no room: a worker wants {_amounts(wanted, wanted)}; free in all the cluster: "
        )
        why += _amounts(wanted, free)
        if not some:
            why += "; no node is large enough"
        for name, member in waiting.items():
            if member.why != why:
                member.why = why
                self.say(**{"is": "queued", "name": name, "why": why})

    def run(self):
        self.begin()
        threading.Thread(target=self.read_orders, daemon=True).start()
        while True:
            try:
                while self.obey(self._orders.get_nowait()):
                    pass
                return
            except queue.Empty:
                pass
            self.watch(0.1)
            self.look_around()


def _amounts(names, amounts):
    def amount(name):
        value = amounts.get(name, 0)
        return f"{value / 2**30:.1f}G" if name == "memory" else f"{value:g}"

    return ", ".join(f"{name} {amount(name)}" for name in names)


def _text(error):
    """One line of what Ray says; its first lines have the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (type(error).__name__ + ": " + " ".join(lines))[:600]


def _anybody_listens(address):
    """Ray itself tries for minutes. Where an address is of another form, Ray says what it thinks of it."""
    import socket

    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), 10).close()
    except OSError:
        return False
    return True


def main():
    # What Ray prints must not come between the events.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())

    def fail(why):
        out.write(json.dumps({"is": "trouble", "why": why}) + "\n")
        out.flush()
        sys.exit(1)

    try:
        import ray
    except ImportError as error:
        fail(f"{sys.executable} has no Ray ({error}): --ray-python is an interpreter that has it")
    if not _anybody_listens(settings["address"]):
        fail(f"no Ray cluster at {settings['address']}: nobody listens there")
    import logging

    try:
        ray.init(
            address=settings["address"],
            namespace=settings["namespace"],
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # no cluster, another version, no token
        fail(f"no Ray cluster at {settings['address']}: {_text(error)}")
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("HEADRACE_") or name in settings["export"]
    }
    settings["variables"] = variables
    helper = Helper(ray, out, settings)
    try:
        helper.run()
    except Exception as error:  # the cluster has gone
        fail(f"the Ray cluster at {settings['address']} is lost: {_text(error)}")


main()
