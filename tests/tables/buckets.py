"""An S3 server for tests, on loopback, stopped by its id."""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from tests.tables.servers import free_port

__all__ = ["SECRET", "Bucket", "in_bucket"]

#: What no message, file or ledger may hold.
SECRET = "s3cret0bucket"


class Bucket:
    """A bucket of a running server, and everything in it."""

    def __init__(self, name: str | None = None) -> None:
        self.name = f"b{uuid.uuid4().hex[:12]}" if name is None else name
        self.settings = f"endpoint_override=127.0.0.1:{_server()}&scheme=http&region=us-east-1"
        self.system, _ = fs.FileSystem.from_uri(
            f"s3://holder:{SECRET}@{self.name}?{self.settings}&allow_bucket_creation=true"
        )
        self.system.create_dir(self.name)

    def address(self, path: str) -> str:
        return f"s3://holder:{SECRET}@{self.name}/{path}?{self.settings}"

    def put(self, path: str, content: bytes) -> None:
        with self.system.open_output_stream(f"{self.name}/{path}", compression=None) as stream:
            stream.write(content)

    def put_folder(self, folder: Path, path: str) -> str:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(folder).as_posix()}", file.read_bytes())
        return self.address(path)

    def paths(self) -> list[str]:
        found = self.system.get_file_info(fs.FileSelector(self.name, recursive=True))
        files = [info.path for info in found if info.type == fs.FileType.File]
        return sorted(path.partition("/")[2] for path in files)

    def remove(self, path: str) -> None:
        self.system.delete_file(f"{self.name}/{path}")


@functools.cache
def _server() -> int:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
    )
    atexit.register(process.kill)
    settings = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    system, _ = fs.FileSystem.from_uri(f"s3://a:b@c?{settings}")
    for _ in range(3000):
        with suppress(OSError):
            system.get_file_info("c")
            return port
        time.sleep(0.1)
    raise RuntimeError("the server does not answer")


def in_bucket(table: pa.Table, folder: Path, keep: object) -> str:
    """Keep a table in a bucket as it is kept in a folder."""
    bucket = Bucket()
    (folder / "bucket").write_text(bucket.name)
    kept = keep(table, folder)
    if kept.is_dir():
        return bucket.put_folder(kept, kept.name)
    bucket.put(kept.name, kept.read_bytes())
    return bucket.address(kept.name)
