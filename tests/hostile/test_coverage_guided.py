"""Readers against input that atheris chooses by coverage; a few inputs, and many in the audit."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import nolook
from tests.conftest import skip_or_fail
from tests.formats.releases import EVERY, release
from tests.hostile.arbitrary import store
from tests.hostile.harness import LONG, Charged
from tests.hostile.test_tables import SOUND

RUNS = {"csv": 10_000, "parquet": 10_000, "arrow": 10_000, "ipc": 10_000, "json": 10_000}
RUNS["ledger"] = 2_000


@pytest.mark.parametrize("reader", RUNS)
def test_coverage_guided(reader, tmp_path, project_root):
    if not LONG:
        pytest.skip("part of the long version (make audit)")
    if importlib.util.find_spec("atheris") is None:
        skip_or_fail("needs atheris")
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    if reader == "json":
        for place, of in enumerate(EVERY):
            nolook.save(release(*of), seeds / str(place))
    elif reader == "ledger":
        (seeds / "sound").write_bytes(Charged(tmp_path).path.read_bytes())
    else:
        table = SOUND.drop_columns("d") if reader == "csv" else SOUND
        path = tmp_path / f"sound.{reader}"
        store(table.slice(0, 12), path)
        (seeds / "sound").write_bytes(path.read_bytes())
    command = [sys.executable, "-m", "tests.hostile.coverage_guided", reader, str(tmp_path)]
    limits = ["-seed=1", "-timeout=30", "-rss_limit_mb=2048", f"-max_len={1 << 16}"]
    done = subprocess.run(
        [*command, f"-runs={RUNS[reader]}", *limits, f"-artifact_prefix={tmp_path}/"],
        cwd=project_root,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"Done {RUNS[reader]} runs" in done.stderr, done.stderr[-3000:]
