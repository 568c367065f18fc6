"""The set that two lists of reports have in common."""

from __future__ import annotations

import hashlib
from itertools import permutations

import pytest

from nolook.federated.server.agreement import compared
from nolook.federated.server.store import Agreement

NAMES = [bytes([i]) * 32 for i in range(6)]
SAME, OTHER = b"=" * 32, b"!" * 32


def agreement(*which, rejected=0):
    return Agreement(
        len(which), hashlib.sha256(b"".join(NAMES[i] for i in which)).hexdigest(), rejected
    )


def listed(**messages):
    """Return entries by id: of each report, by its number, the message."""
    return [NAMES[int(name[1:])] + message for name, message in sorted(messages.items())]


def found(own, theirs):
    """Compare two lists; return what is agreed on, and the entries of the first one outside it."""
    agreed, outside, read = compared([(one, at) for at, one in enumerate(own)], iter(theirs))
    assert read == len(theirs)
    return agreed, [own[at] for at in outside]


def test_what_both_list_with_one_message_counts():
    own = listed(_0=SAME, _1=SAME, _3=SAME, _4=SAME)
    theirs = listed(_1=SAME, _2=SAME, _3=OTHER, _4=SAME, _5=SAME)
    assert found(own, theirs) == (agreement(1, 4, rejected=1), listed(_0=SAME, _3=SAME))
    assert found(own, own) == (agreement(0, 1, 3, 4), [])
    assert found(own, []) == (agreement(), own)
    assert found([], theirs) == (agreement(), [])


@pytest.mark.parametrize("messages", [(SAME, SAME), (SAME, OTHER)])
def test_it_does_not_matter_who_compares(messages):
    for mine, other, both in permutations(range(3)):
        own = listed(**{f"_{mine}": SAME, f"_{both}": messages[0]})
        theirs = listed(**{f"_{other}": SAME, f"_{both}": messages[1]})
        (here, outside), (there, _) = found(own, theirs), found(theirs, own)
        assert here == there
        assert here.count == (messages[0] == messages[1])
        assert len(outside) == 2 - here.count


def test_the_order_of_arrival_does_not_matter():
    """Positions say in which order reports arrived; lists are by id."""
    own, theirs = listed(_0=SAME, _1=SAME, _2=SAME), listed(_1=SAME, _2=SAME)
    for positions in permutations((1, 2, 3)):
        agreed, outside, _ = compared(list(zip(own, positions, strict=True)), iter(theirs))
        assert agreed == agreement(1, 2)
        assert list(outside) == [positions[0]]


def test_an_id_counts_once():
    one = listed(_2=SAME)
    assert found(one, one * 3)[0] == agreement(2)
    assert found(one, listed(_2=OTHER) + one)[0].count <= 1
    assert found(one, one + listed(_2=OTHER))[0] == agreement(2)


def test_the_other_list_is_read_to_its_end():
    left = iter([*listed(_0=SAME), *listed(_5=SAME)])
    compared([(listed(_0=SAME)[0], 1)], left)
    assert next(left, None) is None
