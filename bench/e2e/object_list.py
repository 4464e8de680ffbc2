"""What the list of a bucket takes: seconds and memory of open_dataset for a number of objects, which a
server makes up as they are asked for."""

import argparse
import http.server
import json
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

import harness

PAGE = 1000  # as S3's
ENTRY = (
    "<Contents><Key>%s%08d.jpg</Key><LastModified>2026-11-28T22:41:45.000Z</LastModified>"
    "<ETag>&quot;5d41402abc4b2a76b9719d911017c592&quot;</ETag><Size>110000</Size>"
    "<StorageClass>STANDARD</StorageClass></Contents>"
)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    classes = 0
    objects = 0


class Handler(http.server.BaseHTTPRequestHandler):
    """Keys are "p/class0000/00000000.jpg"."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_):
        pass

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        prefix, each = query["prefix"][0], self.server.objects // self.server.classes
        token = ""
        if "delimiter" in query:
            inner = "".join(
                f"<CommonPrefixes><Prefix>p/class{number:04}/</Prefix></CommonPrefixes>"
                for number in range(self.server.classes)
            )
        else:
            first = int(query.get("continuation-token", ["0"])[0])
            last = min(first + PAGE, each)
            inner = "".join([ENTRY % (prefix, number) for number in range(first, last)])
            if last < each:
                token = f"<NextContinuationToken>{last}</NextContinuationToken>"
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Prefix>{prefix}</Prefix><EncodingType>url</EncodingType>"
            f"<IsTruncated>{'true' if token else 'false'}</IsTruncated>{token}{inner}</ListBucketResult>"
        ).encode()
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(objects: int, classes: int) -> None:
    server = Server(("127.0.0.1", 0), Handler)
    server.objects, server.classes = objects, classes
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever).start()
    sys.stdin.read()
    os._exit(0)


def resident() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def most_resident() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(port: int, objects: int) -> dict:
    """In a process of its own, whose memory nothing else has grown."""
    import headrace
    from headrace.capture.capture import capture
    from torch.utils.data import DataLoader
    from torchvision.transforms import ToTensor

    open_dataset = headrace.open_dataset  # what it imports is no list's
    given = {"endpoint": f"http://127.0.0.1:{port}", "anonymous": True}
    open_dataset("s3://bucket/p", names=["a/1.jpg"], **given)
    before, begin, cpu = resident(), time.perf_counter(), time.process_time()
    dataset = open_dataset("s3://bucket/p", ToTensor(), **given)
    made = {
        "objects": len(dataset),
        "seconds": time.perf_counter() - begin,
        "cpu_s": time.process_time() - cpu,
        "most": (most_resident() - before) / objects,
        "stays": (resident() - before) / objects,
    }
    assert made["objects"] == objects
    begin = time.perf_counter()
    plan = capture(DataLoader(dataset, 4), "auto").plan
    made["plan_s"] = time.perf_counter() - begin
    made["plan"] = sum(memoryview(leaf.table).nbytes for leaf in plan.leaves) / objects
    made["most_with_plan"] = (most_resident() - before) / objects
    return made


def listed(objects: int, classes: int) -> dict:
    me = [sys.executable, __file__, "--objects", str(objects), "--classes", str(classes)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*me, "--serve"], **pipes) as server:
        port = server.stdout.readline().strip()
        done = subprocess.run([*me, "--port", port], stdout=subprocess.PIPE, text=True, check=True)
        times = os.times()
        server.communicate("")
        return json.loads(done.stdout) | {"classes": classes, "server_cpu_s": _cpu_since(times)}


def _cpu_since(before: os.times_result) -> float:
    now = os.times()
    return now.children_user + now.children_system - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.objects, arguments.classes)
    if arguments.port:
        return print(json.dumps(measure(arguments.port, arguments.objects)))
    most = arguments.objects
    runs = [listed(most // 100, 10), listed(most // 10, 100), listed(most, arguments.classes)]
    runs.append(listed(most // 10, 1))
    rows = []
    for made in runs:
        count = made["objects"]
        what = f"{count:,} objects in {made['classes']:,} folders"
        rows += [
            (f"{what}: seconds", f"{made['seconds']:.1f}"),
            (f"{what}: CPU µs an object", f"{1e6 * made['cpu_s'] / count:.1f}"),
            (f"{what}: most memory meanwhile, bytes an object", f"{made['most']:.0f}"),
            (f"{what}: memory that stays, bytes an object", f"{made['stays']:.0f}"),
            (f"{what}: table of the plan, bytes an object", f"{made['plan']:.0f}"),
            (f"{what}: the plan is made, seconds", f"{made['plan_s']:.1f}"),
            (f"{what}: most memory with it, bytes an object", f"{made['most_with_plan']:.0f}"),
        ]
    rows.append(
        ("load of the machine at the end, nearly all of it by others", f"{os.getloadavg()[0]:.1f}")
    )
    harness.write_report("object_list", "The list of a bucket", rows, {"runs": runs})


if __name__ == "__main__":
    main()
