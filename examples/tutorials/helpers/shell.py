"""Commands in a folder of their own, shown with what they print."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"
WIDTH = 84
# What a tutorial writes goes here and not into the repository.
FOLDER = Path(tempfile.mkdtemp(prefix="nolook-"))


def shell(command, *, status=0):
    """Print a command and its output; it must end as expected."""
    beside = str(Path(sys.executable).parent)
    done = subprocess.run(
        command,
        shell=True,
        cwd=FOLDER,
        env={
            **os.environ,
            "PATH": os.pathsep.join((beside, os.environ.get("PATH", ""))),
            "COLUMNS": str(WIDTH),
            "NO_COLOR": "1",
            "TERM": "dumb",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    printed = "\n".join(map(_broken, done.stdout.splitlines()))
    shown = " \\\n    ".join(textwrap.wrap(command, WIDTH - 4, break_on_hyphens=False))
    print(f"$ {shown}\n{printed}".rstrip())
    if done.returncode != status:
        raise SystemExit(f"ended with status {done.returncode}; expected {status}")


def _broken(line):
    """Break a long message as a terminal would."""
    return line.rstrip() if len(line) <= WIDTH else textwrap.fill(line, WIDTH)
