"""Ceph's gateway for S3, with a cluster of one monitor and one store in memory."""

import contextlib
import http.client
import uuid
from collections.abc import Iterator
from pathlib import Path

from support.headrace_program import free_port, wait_for

from .processes import processes
from .s3_server import S3Server, filled

_KEYS = {
    "mon.": {"mon": "allow *"},
    "client.admin": {"mon": "allow *", "osd": "allow *", "mgr": "allow *"},
    "osd.0": {"mon": "allow *", "osd": "allow *"},
    "client.rgw.a": {"mon": "allow *", "osd": "allow *", "mgr": "allow *"},
}
_SETTINGS = """
[global]
fsid = {fsid}
mon_host = [v2:127.0.0.1:{mon}/0]
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
keyring = {folder}/keyring
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
mon_warn_on_pool_no_redundancy = false
run_dir = {folder}
admin_socket = {folder}/$name.asok
log_file = {folder}/$name.log
pid_file = {folder}/$name.pid
setuser_match_path =
[mon.a]
mon_data = {folder}/mon
[osd.0]
osd_data = {folder}/osd
osd_objectstore = memstore
memstore_device_bytes = 1073741824
[client.rgw.a]
rgw_frontends = beast endpoint=127.0.0.1:{port}
rgw_data = {folder}/rgw
rgw_dns_name = localhost
"""


@contextlib.contextmanager
def radosgw(folder: Path) -> Iterator[S3Server]:
    server = S3Server(f"http://127.0.0.1:{free_port()}", "tester-id", "tester-secret")
    for name in ("mon", "osd", "rgw"):
        (folder / name).mkdir(parents=True)
    fsid, mon, settings = str(uuid.uuid4()), free_port(), folder / "ceph.conf"
    settings.write_text(
        _SETTINGS.format(
            folder=folder, fsid=fsid, mon=mon, port=server.authority.rpartition(":")[2]
        )
    )
    with processes(folder) as made:
        made.run("ceph-authtool", "--create-keyring", folder / "keyring")
        for name, caps in _KEYS.items():
            said = [word for of, what in caps.items() for word in ("--cap", of, what)]
            made.run("ceph-authtool", folder / "keyring", "--gen-key", "-n", name, *said)
        monitors = ("--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{mon}]", folder / "monmap")
        made.run("monmaptool", "--create", *monitors)
        first = (
            "--mkfs",
            "-i",
            "a",
            "--monmap",
            folder / "monmap",
            "--keyring",
            folder / "keyring",
        )
        made.run("ceph-mon", "-c", settings, *first)
        made.start("ceph-mon", "-c", settings, "-i", "a", "-f")
        made.run("ceph-osd", "-c", settings, "-i", "0", "--mkfs", "--osd-uuid", str(uuid.uuid4()))
        made.start("ceph-osd", "-c", settings, "-i", "0", "-f")
        made.start("radosgw", "-c", settings, "-n", "client.rgw.a", "-f")
        keys = ("--access-key", server.key_id, "--secret-key", server.secret)
        user = ("--uid", "tester", "--display-name", "tester", *keys)
        made.run("radosgw-admin", "-c", settings, "-n", "client.admin", "user", "create", *user)
        wait_for(lambda: answers(server.endpoint), f"radosgw: {made.said()}", 120)
        with filled(server):
            yield server


def answers(endpoint: str) -> bool:
    """By HTTP, whatever it says."""
    connection = http.client.HTTPConnection(endpoint.partition("://")[2], timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
