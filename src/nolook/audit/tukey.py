"""Audits of propose-test-release, and of the Tukey mechanism on models of one and two coefficients.

In the middle of the models one deep point stands between a few points on the left and many on the
right. A model moved from the right end to the left one makes the few deeper and the many shallower:
their chances change by nearly all that is promised.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from nolook._arrays import Integers
from nolook.audit.audit_case import FEWER_RUNS, Case, Vector, one_by_one, pure_case
from nolook.audit.exact_laws import all_points, passing_chance, point_law
from nolook.privacy.mechanisms.propose_test_release import (
    distance_scale,
    passes_test,
    passing_threshold,
)
from nolook.privacy.mechanisms.tukey_depth import (
    TukeyRule,
    compute_volumes,
    distance_to_unsafety,
    sorted_columns,
    tukey_release,
)
from nolook.privacy.noise import ByteSource

__all__ = ["cases"]


_DELTA = 1e-3
_TEST_SHARE = 0.1  # of epsilon
_LEFT, _RIGHT = 4, 40  # points on either side of the middle


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at an epsilon."""
    case = partial(pure_case(epsilon), runs=FEWER_RUNS)
    return (
        case(
            name="propose-test-release",
            neighbours="the distance to unsafety is smaller by 1, just below what passes",
            covers=("passes_test",),
            draw=one_by_one(partial(_test, epsilon)),
            law=partial(_test_law, epsilon),
        ),
        *(
            case(
                name=f"tukey-{d}d",
                neighbours="one model replaced: from the right end to the left one",
                covers=("tukey_release", "restricted_tukey", "sample_point_with_depth"),
                draw=one_by_one(partial(_tukey, epsilon, d)),
                delta=_DELTA,
                law=partial(_tukey_law, epsilon, d),
            )
            for d in (1, 2)
        ),
    )


def _distance(epsilon: float, table: int) -> int:
    return passing_threshold(epsilon, _DELTA) - 1 - table


def _test(epsilon: float, table: int, source: ByteSource) -> float:
    return float(passes_test(_distance(epsilon, table), epsilon, _DELTA, source))


def _test_law(epsilon: float, table: int) -> Vector:
    scale, threshold = distance_scale(epsilon), passing_threshold(epsilon, _DELTA)
    passing = passing_chance(_distance(epsilon, table), threshold, scale)
    return np.array([1 - passing, passing])


def _rule(epsilon: float) -> TukeyRule:
    test = _TEST_SHARE * epsilon
    # So deep that the test passes nearly always.
    depth = passing_threshold(test, _DELTA) + round(5 / test)
    return TukeyRule(depth, test, epsilon - test, _DELTA)


@cache
def _models(epsilon: float, d: int, table: int) -> Integers:
    rule = _rule(epsilon)
    each = 2 * rule.depth + round(20 / rule.epsilon_sample)
    moved = 1 if table else 0
    column = [-_LEFT] * (each + moved) + [0] * 3 + [_RIGHT] * (each - moved)
    models = np.zeros((len(column), d), dtype=np.int64)
    models[:, 0] = column
    return models


def _tukey(epsilon: float, d: int, table: int, source: ByteSource) -> float:
    """Return an outcome's number: no release, left of the middle, the middle or right of it."""
    point = tukey_release(_models(epsilon, d, table), _rule(epsilon), source)
    return 0.0 if point is None else 2.0 + float(np.sign(point[0]))


def _tukey_law(epsilon: float, d: int, table: int) -> Vector:
    rule, models = _rule(epsilon), _models(epsilon, d, table)
    distance = distance_to_unsafety(compute_volumes(sorted_columns(models)), rule)
    threshold = passing_threshold(rule.epsilon_test, rule.delta)
    passing = passing_chance(distance, threshold, distance_scale(rule.epsilon_test))
    grid = all_points(-_LEFT, _RIGHT, d)
    points = point_law(models, grid, rule.depth, float(rule.rate))
    sides = np.bincount(1 + np.sign(grid[:, 0]), points, minlength=3)
    return np.concatenate([[1 - passing], passing * sides])
