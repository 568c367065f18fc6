"""A release as a draft record for the registry of differential privacy deployments (YAML)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from nolook.errors import ParameterError
from nolook.estimators.result import Result
from nolook.formats.files import one_line, write_text
from nolook.report._templates import template
from nolook.report.findings import plain
from nolook.report.sections import costs, sections

__all__ = ["write_record"]


def write_record(release: Result, path: Path) -> None:
    """Write the record of a release that is private: tier 2, and what is known of tier 3."""
    if not release.privacy.private:
        raise ParameterError(f"{one_line(path)}: the release is not private, so it has no record")
    found, guarantee = release.content(), release.privacy
    parts = {part.name: part for part in sections(found)}
    settings = dict(parts["settings"].settings)
    one = guarantee.unit.protected
    neighbours = ("Neighbouring tables differ by", f"A {one} is all rows with the same")
    record = {
        "slug": re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "release",
        "product": "Machine learning model" if release.coefficients else "Summary statistics",
        "description": plain(found.headline),
        "day": datetime.now(UTC).date().isoformat(),
        "unprotected": " ".join(map(plain, parts["limits"].points[3:])),  # what is public
        "neighbours": [f"{name}: {settings[name]}." for name in neighbours if name in settings],
        "mechanisms": [f"{name}: {how}, {cost}." for name, how, cost, *_ in costs(guarantee)],
        "guarantee": guarantee,
        "settings": settings,
    }
    environment = template("page.html").environment.overlay(finalize=_scalar)
    write_text(path, environment.get_template("registry.yaml").render(record))


def _scalar(value: float | str | Iterable[str]) -> str:
    """Write a number, a text or several as one YAML scalar; YAML wants a point in a number."""
    if isinstance(value, float):
        return re.sub(r"^(-?\d+)e", r"\1.0e", repr(value))
    text = value if isinstance(value, str) else " ".join(value)
    return json.dumps(one_line(text), ensure_ascii=False)
