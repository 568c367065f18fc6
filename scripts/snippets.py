"""Run the examples of pages, in a folder with the tables that they read.

    python -m scripts.snippets PAGE ...

Blocks marked `python` and `bash` run one after the other; one marked `text` is what the `python`
one before it printed. nolook is that of the Python which runs this: a clone's, or an installed
wheel's.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from nolook.cli._examples import write_examples
from scripts.pages import without_blocks

__all__ = ["BLOCK", "run_page"]

BLOCK = re.compile(r"^```(\S+).*?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _shell(script: str) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise AssertionError(script + done.stdout + done.stderr)


def run_page(page: Path, folder: Path) -> None:
    """Run a page's examples in an empty folder, which gets the tables."""
    write_examples(folder)
    variables: dict[str, Any] = {}
    said = None
    with contextlib.chdir(folder):
        for language, code in BLOCK.findall(without_blocks(page.read_text(encoding="utf-8"))):
            if language == "bash":
                _shell(code)
            elif language == "python":
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    exec(compile(code, page.name, "exec", dont_inherit=True), variables)
            elif language == "text" and said and said.getvalue() != code:
                raise AssertionError(f"{page.name} says\n{code}and this prints\n{said.getvalue()}")


def main() -> None:
    """Run the examples of the pages named."""
    for page in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            run_page(page.resolve(), Path(folder))
        print(page.name, flush=True)


if __name__ == "__main__":
    main()
