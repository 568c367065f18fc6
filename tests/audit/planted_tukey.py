"""Faults of the Tukey mechanism: its test, its relation, and its sampling. Tables are models."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from nolook.privacy import noise
from nolook.privacy.mechanisms import propose_test_release, tukey_depth
from tests.audit.planted import Fault, Release, choices
from tests.audit.planted_noise import float_uniform


@contextmanager
def remembering():
    """Compute once what draws nothing and is the same in every draw: half of the time."""
    distance = tukey_depth.distance_to_unsafety

    @cache
    def known(volumes, rule):
        return distance(list(volumes), rule)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            tukey_depth,
            "distance_to_unsafety",
            lambda volumes, rule: known(tuple(volumes), rule),
        )
        threshold = cache(propose_test_release.passing_threshold)
        patch.setattr(propose_test_release, "passing_threshold", threshold)
        yield


def releases(models, rule, draws, source):
    """Draw so many releases: points, or None."""
    with remembering():
        return [tukey_depth.tukey_release(models, rule, source) for _ in range(draws)]


# --- the test alone ------------------------------------------------------------------------------

TEST_RULE = tukey_depth.TukeyRule(20, 0.5, 1.0, 0.01)


def far_and_near(far):
    """Return 160 models, all at 0 but for a few far away to the left."""
    return np.array([-(10**9)] * far + [0] * (160 - far))[:, None]


def tests_answer(models, draws, source):
    volumes = tukey_depth.compute_volumes(tukey_depth.sorted_columns(models))
    distance = tukey_depth.distance_to_unsafety(volumes, TEST_RULE)

    def answer():
        epsilon, delta = TEST_RULE.epsilon_test, TEST_RULE.delta
        return propose_test_release.passes_test(distance, epsilon, delta, source)

    with remembering():
        return [choices(answer, draws)]


ANSWER = Release(
    "answer of the test (one model replaced)",
    (far_and_near(10), far_and_near(11)),
    tests_answer,
    TEST_RULE.epsilon_test,
    2_500,
    0.3,
)


def scale_upside_down(patch):
    """Plant noise of scale epsilon instead of 1/epsilon, the threshold as it should be."""

    def wrong(scale, size, source):
        return noise.discrete_laplace(1.0 / scale, size, source)

    patch.setattr(propose_test_release, "discrete_laplace", wrong)


# --- models that must be refused -----------------------------------------------------------------

# An epsilon above 1, where the wrong noise is too much: the test passes whatever the models are.
# The tables' points hardly overlap, so the right code all but always refuses both, and an audit
# of it can see nothing.
UNSAFE_RULE = tukey_depth.TukeyRule(2, 2.0, 0.01, 0.01)


def refused(models, draws, source):
    found = releases(models, UNSAFE_RULE, draws, source)
    return [np.array([0.0 if point is None else float(point[0]) for point in found])]


UNSAFE = Release(
    "answer on unsafe models (one model replaced)",
    (far_and_near(1)[:9], far_and_near(2)[:9]),
    refused,
    UNSAFE_RULE.epsilon_test + UNSAFE_RULE.epsilon_sample,
    2_400,
    0.0,
    delta=UNSAFE_RULE.delta,
)

# --- the digits of the point ---------------------------------------------------------------------

UNIT = 2.0**-50  # of the grid of models: fine enough for every float64 number drawn below
DIGITS_RULE = tukey_depth.TukeyRule(10, 1.2, 2.0, 1e-3)
LOW, HIGH = -600.0, 100.0


def on_the_grid(*values):
    return np.array([[round(value / UNIT)] for value in values], dtype=np.int64)


def float_point(columns, depth, source):
    """Draw low + (high - low) U in float64, until it has no larger depth."""
    low, high = columns[0, depth - 1] * UNIT, columns[0, -depth] * UNIT
    deepest = depth == (columns.shape[1] + 1) // 2
    inner = (0.0, 0.0) if deepest else (columns[0, depth] * UNIT, columns[0, -depth - 1] * UNIT)
    while True:
        point = float(low + (high - low) * float_uniform(1, source)[0])
        if deepest or not inner[0] <= point <= inner[1]:
            return [int(point / UNIT)]


def reachable_with_float_point(outputs):
    """Whether low + (high - low) U can be each output, with the first table's ends."""
    steps = np.rint((outputs - LOW) / (HIGH - LOW) * 2.0**53)
    found = np.zeros(len(outputs), dtype=bool)
    for near in range(-4, 5):
        uniform = (steps + near).clip(1.0, 2.0**53) * 2.0**-53
        found |= LOW + (HIGH - LOW) * uniform == outputs
    return found.astype(np.float64)


def digits_of_the_point(models, draws, source):
    found = releases(models, DIGITS_RULE, draws, source)
    outputs = np.array([np.nan if point is None else point[0] * UNIT for point in found])
    passed = ~np.isnan(outputs)
    # A failed test can happen on both tables.
    outputs[~passed] = LOW
    return [outputs, np.where(passed, reachable_with_float_point(outputs), 1.0)]


DIGITS = Release(
    "digits of the point (one model replaced)",
    (
        on_the_grid(*[LOW] * 28, *[HIGH] * 28),
        on_the_grid(*[LOW] * 27, LOW + 280.0, *[HIGH] * 28),
    ),
    digits_of_the_point,
    DIGITS_RULE.epsilon_test + DIGITS_RULE.epsilon_sample,
    2_400,
    0.05,
    delta=DIGITS_RULE.delta,
)

FAULTS = (
    Fault("scale of the test's noise upside down", ANSWER, scale_upside_down, 2.0),
    Fault("scale of the test's noise upside down, unsafe models", UNSAFE, scale_upside_down),
    Fault(
        "float64 sampling between an interval's ends",
        DIGITS,
        lambda patch: patch.setattr(tukey_depth, "sample_point_with_depth", float_point),
    ),
)
