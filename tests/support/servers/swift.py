"""OpenStack's object store with its interface for programs that know S3: a proxy and three servers."""

import contextlib
import getpass
import socket
from collections.abc import Iterator
from pathlib import Path

from support.headrace_program import free_port, wait_for

from .processes import processes
from .s3_server import S3Server, filled

_KINDS = ("object", "container", "account")
_KIND = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
workers = 0
log_address = {folder}/no-log
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
_PROXY = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
workers = 0
log_address = {folder}/no-log
[pipeline:main]
pipeline = catch_errors gatekeeper cache s3api tempauth bulk slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
# It is needed, and nobody is there: tokens and lists are asked for each time.
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = {region}
storage_domain = localhost
check_bucket_owner = false
min_segment_size = 1024
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = tester-secret .admin
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


@contextlib.contextmanager
def swift(folder: Path, region: str = "eu-test-1") -> Iterator[S3Server]:
    server = S3Server(f"http://127.0.0.1:{free_port()}", "test:tester", "tester-secret", region)
    (folder / "devices" / "one").mkdir(parents=True)
    user = getpass.getuser()
    (folder / "swift.conf").write_text(
        "[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n"
    )
    with processes(folder) as made:
        ports = []
        for kind in _KINDS:
            port, builder = free_port(), folder / f"{kind}.builder"
            made.run("swift-ring-builder", builder, "create", "1", "1", "1")
            made.run("swift-ring-builder", builder, "add", f"r1z1-127.0.0.1:{port}/one", "1")
            made.run("swift-ring-builder", builder, "rebalance")
            settings = folder / f"{kind}.conf"
            settings.write_text(_KIND.format(folder=folder, kind=kind, port=port, user=user))
            made.start(f"swift-{kind}-server", settings)
            ports.append(port)
        settings, port = folder / "proxy.conf", server.authority.rpartition(":")[2]
        settings.write_text(_PROXY.format(folder=folder, port=port, region=region, user=user))
        made.start("swift-proxy-server", settings)
        for one in [*ports, int(port)]:
            wait_for(lambda one=one: _listens(one), f"swift: {made.said()}", 120)
        with filled(server):
            yield server


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
