"""The process of one run: the command line with other places for progress and exit status."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from nolook.app.runs import Run
from nolook.app.session import Session


def main() -> None:
    """Run a command once; do nothing if another process does, or did."""
    run = Run(Path(sys.argv[1]))
    # Held until the process ends.
    if (_lock := run.lock()) is None or run.read("ended"):
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run.write("process", {"number": os.getpid()})
    from nolook import cli
    from nolook.cli._progress import STEPS

    STEPS.set(lambda step, done, total: run.write("step", {"step": step, "at": [done, total]}))
    sys.argv = ["nolook", *run.about["arguments"]]
    try:
        cli.main()
    except SystemExit as ended:
        about: dict[str, object] = {"status": ended.code or 0}
        try:
            if not ended.code:
                # Not before: a command starts without what it does not need.
                from nolook.formats.files import write_text
                from nolook.formats.model_file import load
                from nolook.report.exports import exported
                from nolook.report.findings import plain

                file = run.folder.parents[1] / run.name
                found = load(f"{file}.json")
                about["answer"] = [*map(plain, found.content().conclusion)]
                write_text(Path(f"{file}.csv"), exported(found, "csv"))
        finally:
            run.write("ended", about)
            Session.all()[run.folder.parents[1].stem].write_scripts()


if __name__ == "__main__":
    main()
