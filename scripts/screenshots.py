"""Take pictures of a report at three widths, for docs/reports.md; needs Chromium.

python scripts/screenshots.py
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import nolook

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "examples" / "data" / "diamonds.model.json"
PICTURES = ROOT / "docs" / "pictures"
#: Width and height in pixels, and whether the page is dark.
VIEWS = ((375, 1250, False), (768, 900, True), (1280, 900, False))
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Write a picture for each view."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder:
        nolook.load(MODEL).report(Path(folder) / "report.html", table="diamonds.parquet")
        for width, height, dark in VIEWS:
            # A window is never as narrow as a telephone; a frame may be.
            frame = Path(folder) / "frame.html"
            frame.write_text(
                f'<body style="margin: 0"><iframe src="report.html" style="border: 0; '
                f'width: {width}px; height: {height}px"></iframe>',
                encoding="utf-8",
            )
            command = [
                browser,
                *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                f"--user-data-dir={folder}/profile",
                f"--window-size={width},{height}",
                f"--screenshot={PICTURES / f'report-{width}.png'}",
                *(["--blink-settings=preferredColorScheme=0"] if dark else []),
                frame.as_uri(),
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
