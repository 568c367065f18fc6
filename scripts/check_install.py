"""Install nolook as a user does, on every Python it supports, and run README's examples there.

    python scripts/check_install.py [--output benchmarks/results/install.md] [--pages] [PYTHON ...]

The wheel and the source archive are built once. On each interpreter (default: those of 3.11, 3.12
and 3.13 found here) the wheel goes into an empty environment with what it needs, README's examples
run, and the source archive takes the wheel's place and runs them again. Prints how large it all is.
With --pages, as in `make test-install`, the examples of all pages run too, with the wheel and the
extras that they need: some minutes for each interpreter.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
LARGEST = 6


def found(version):
    """Return an interpreter of this version that runs, or None."""
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for one in filter(None, candidates):
        asked = [one, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return Path(one)
    return None


def examples():
    """Return README's Python example, and its commands but those of make."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (python,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return python, re.findall(r"^    (nolook .*)$", text, re.MULTILINE)


def run_examples(python):
    """Run them in a new folder that has the tables of the repository."""
    example, commands = examples()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "examples" / "data"
        shutil.copytree(ROOT / "examples" / "data", data)
        subprocess.run([python, "-c", example], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for command in commands:
            words = shlex.split(command)
            words[0] = python.with_name(words[0])
            subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def megabytes(path):
    """Return the size of a folder's files; what Python compiles is left out."""
    files = (file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files) / 2**20


def installed(interpreter, folder, wheel, archive):
    """Install both, run the examples with each, and return the place of what was installed."""
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, wheel], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    run_examples(python)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", archive], check=True)
    run_examples(python)
    return packages


def page(places):
    """Yield the sizes: in all, of nolook itself, and of the largest packages."""
    yield "# Size of an installation"
    yield ""
    yield "All that `pip install nolook` brings on Linux, without pip itself. Printed by"
    yield "`python scripts/check_install.py`, which also runs README's examples in each environment"
    yield "with the wheel and with the source archive."
    yield ""
    yield "<!-- sizes -->"
    yield ""
    yield "| Python | all, MB | nolook itself, MB | the largest packages, MB |"
    yield "|---|---:|---:|---|"
    for version, packages in places.items():
        sizes = {
            one.name: megabytes(one)
            for one in packages.iterdir()
            if one.is_dir() and not one.name.startswith(("pip", "setuptools"))
        }
        largest = sorted(sizes, key=sizes.get, reverse=True)[:LARGEST]
        listed = ", ".join(f"{name} {sizes[name]:.0f}" for name in largest)
        total = sum(sizes.values())
        yield f"| {version} | {total:.0f} | {sizes['nolook']:.1f} | {listed} |"


def run_pages(python, wheel):
    """Run the examples of all pages with the wheel and its extras."""
    extras = f"{wheel}[databases,files,pandas,plot,polars]"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, extras], check=True)
    # In place of the source archive's, which has the same version.
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    pages = sorted((ROOT / "docs").glob("*.md"))
    command = [python, "-m", "scripts.snippets", *pages]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)


def main():
    """Build, install, run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", type=Path, metavar="PYTHON")
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--pages", action="store_true")
    given = parser.parse_args()
    pythons = given.pythons or [one for version in VERSIONS if (one := found(version))]
    with tempfile.TemporaryDirectory() as place:
        built = Path(place) / "built"
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", built, ROOT]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,), (archive,) = built.glob("*.whl"), built.glob("*.tar.gz")
        places = {}
        for number, python in enumerate(pythons):
            folder = Path(place) / f"environment{number}"
            packages = installed(python, folder, wheel, archive)
            places[packages.parent.name.removeprefix("python")] = packages
        lines = list(page(places))
        for packages in places.values() if given.pages else ():
            run_pages(packages.parents[2] / "bin" / "python", wheel)
    print("\n".join(lines))
    if given.output:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
