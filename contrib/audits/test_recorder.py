"""Every release under dp-recorder: recorded on a table, replayed on a neighbour.

The auditor returns the recorded noisy answers on the neighbour, and finds a fault if a mechanism is
called that was not, with other parameters, or on values further apart than the sensitivity, or if
the result differs.
"""

from __future__ import annotations

import inspect
import warnings
from functools import partial

import numpy as np
import pytest

import nolook
from nolook.algorithms import per_unit_sampling
from nolook.estimators import releasing
from nolook.privacy.noise import SeededSource
from tests.contracts.replay import Call, Prefixes
from tests.contracts.test_costs import ANSWERS, plain, replace_everywhere
from tests.contracts.test_replay import ATTACKED, FAULTS, REPLACES, UNITS, neighbours

recorder = pytest.importorskip("dp_recorder.auditing")

#: What dp-recorder cannot see: it adds no costs up, and does not know what a guarantee states.
UNSEEN = {
    "parts twice as dear where the target is not detected",
    "a search that is repeated unpaid",
    "a part unpaid where a release ends early",
    "a row in two groups",
    "gradients twice as dear where no feature is detected",
    "half of an event",
    "an event left out",
    "the cost of a row for each of several",
    "the cost of a choice for each of several rows",
    "an event left out (compare-groups)",
    "an event left out (survival)",
}


def _recorded(mechanism, rows, auditor, inside):
    """Return a mechanism as the auditor sees it: values, sensitivity, and all else as text."""

    def call(*positional, **named):
        if inside:
            return mechanism(*positional, **named)
        asked = inspect.signature(mechanism).bind(*positional, **named).arguments
        asked.pop("source")
        values = np.array(asked.pop(next(iter(asked))), copy=True)
        asked = dict(asked)

        def distance(one, other):
            return Call(mechanism.__name__, asked, one).share(
                Call(mechanism.__name__, asked, other)
            )

        @recorder.audit_spec(
            kind=mechanism.__name__,
            input_arg="values",
            sensitivity_arg="sensitivities",
            metric_fn=distance,
        )
        def drawn(values, sensitivities, parameters):  # noqa: ARG001 -- the auditor compares them
            inside.append(mechanism)
            try:
                return mechanism(values, **asked, source=SeededSource(len(auditor.log)))
            finally:
                inside.pop()

        return drawn(values, rows, repr((values.shape, plain(asked))))

    return call


def _release(auditor, release, table, patch):
    rows = table.unit.max_rows
    inside = []  # a mechanism that calls another is one to the auditor
    spies = {one: _recorded(one, float(rows), auditor, inside) for one in ANSWERS}
    with patch.context() as inner, warnings.catch_warnings(), auditor:
        warnings.simplefilter("ignore", nolook.WeakPrivacyWarning)
        replace_everywhere(spies, inner)
        inner.setattr(releasing, "byte_source", Prefixes)
        inner.setattr(per_unit_sampling, "SystemEntropy", Prefixes)
        try:
            result = plain(release(table))
        except nolook.PrivateFitFailed as error:
            result = error
        recorder.ensure_equality(result=repr(result))


def audited(patch, name, case, more, unit):
    """Record a release on one table, replay it on a neighbour, check what was recorded."""
    release, kind = ATTACKED[name]
    first, second = neighbours(kind, case, more, unit, name in REPLACES)
    auditor = recorder.Auditor()
    _release(auditor, partial(release, epsilon=30.0), first, patch)
    auditor.set_replay()
    _release(auditor, partial(release, epsilon=30.0), second, patch)
    auditor.validate_records()
    assert len(auditor.log) > 1


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ATTACKED)
def test_nothing_is_found_in(name, unit, monkeypatch):
    if name in REPLACES and unit != "rows":
        unit = "rows"
    for case, more in (("ordinary", "far out"), ("binary columns", "any")):
        audited(monkeypatch, name, case, more, unit)


@pytest.mark.parametrize(("plant", "where"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(plant, where, request, monkeypatch):
    plant(monkeypatch)
    if request.node.callspec.id in UNSEEN:
        audited(monkeypatch, *where)
        return
    with pytest.raises((AssertionError, RuntimeError)):
        audited(monkeypatch, *where)
