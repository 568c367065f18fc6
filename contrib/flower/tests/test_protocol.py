"""Flower's SecAgg+ between its own apps, messages handed over in one process."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.common import Context, Error, Message, RecordDict
from flwr.common.secure_aggregation.quantization import quantize
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage
from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen
from flwr.server.workflow import SecAggPlusWorkflow

from nolook.algorithms.grids import LinearGrid
from nolook.errors import ParameterError
from nolook.privacy.noise import SeededSource
from nolook_flower import secagg
from nolook_flower.secure_sum import InProcessSum, PointwiseSum, SumError
from nolook_flower.summed_ecdf import SummedQuery, release_summed_ecdf

try:
    from flwr.supercore.task_identity import TaskIdentity
except ImportError:  # before Flower 1.31 or so, messages need none
    TaskIdentity = SimpleNamespace()

STAGES = (Stage.SETUP, Stage.SHARE_KEYS, Stage.COLLECT_MASKED_VECTORS, Stage.UNMASK)


class HandOver:
    """What Flower calls a grid: every message goes to its owner's app at once.

    `lost` holds (place, stage): that owner is gone from that stage on.
    """

    def __init__(self, app, owners, lost=()):
        self.app = app
        self.run = SimpleNamespace(run_id=1)
        self.contexts = {
            1000 + place: Context(
                run_id=1,
                node_id=1000 + place,
                node_config={"partition-id": place, "num-partitions": owners},
                state=RecordDict(),
                run_config={},
            )
            for place in range(owners)
        }
        self.lost = dict(lost)
        self.seen = []
        self.replies = []

    def get_node_ids(self):
        return list(self.contexts)

    def send_and_receive(self, messages, timeout):
        assert timeout == 10.0
        return [self.answer(message) for message in messages]

    def answer(self, message):
        node = message.metadata.dst_node_id
        # Each owner gets a message of its own, as over a wire.
        stage = message.content.config_records[RECORD_KEY_CONFIGS][Key.STAGE]
        self.seen.append((node - 1000, stage))
        gone = self.lost.get(node - 1000)
        if gone is not None and STAGES.index(stage) >= STAGES.index(gone):
            return self.error(message)
        content = RecordDict()
        for name, record in message.content.items():
            content[name] = record.copy()
        copy = Message(content, dst_node_id=node, message_type=message.metadata.message_type)
        try:
            reply = self.app(copy, self.contexts[node])
        except Exception as error:  # noqa: BLE001 -- as at an owner of Flower's
            self.replies.append(repr(error))
            return self.error(message)
        self.replies.append(reply)
        return Message(reply.content, reply_to=message)

    @staticmethod
    def error(message):
        return Message(Error(code=0, reason="gone"), reply_to=message)


def run(app, owners, needed=0, drop_outs=0, lost=()):
    """Run the protocol; return its totals and the grid."""
    # What a process of Flower's is told when it starts.
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    totals = []
    server = secagg.aggregator_app(owners, needed, drop_outs, 10.0, totals.append)
    grid = HandOver(app, owners, lost)
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})
    server(grid, context)
    return totals, grid


class Handed:
    """A secure sum by `run`."""

    def __init__(self, drop_outs=0, lost=()):
        self.drop_outs = drop_outs
        self.lost = lost

    def sum(self, vectors, needed=0):
        app = secagg.owner_app(vectors.__getitem__)
        totals, _ = run(app, len(vectors), needed, self.drop_outs, self.lost)
        if not totals:
            raise SumError("no sum was opened")
        return totals[0]


def vectors_of(owners, length=7, seed=0):
    rng = np.random.default_rng(seed)
    return list(rng.integers(0, 2**64, (owners, length), dtype=np.uint64))


def reference(vectors, owners):
    return InProcessSum().sum([vectors[i] for i in owners]).numbers.tolist()


@pytest.mark.parametrize("owners", [3, 4, 10])
def test_a_sum_is_exact(owners):
    vectors = vectors_of(owners, seed=owners)
    total = Handed().sum(vectors, owners)
    assert total.numbers.dtype == np.uint64
    assert total.numbers.tolist() == reference(vectors, range(owners))
    assert total.owners == tuple(range(owners))


@pytest.mark.parametrize("number", [0, 1, 2**16 - 1, 2**16, 2**63, 2**64 - 1, 0xFFFF0000FFFF0000])
def test_a_sum_is_exact_at_the_ends_of_the_range(number):
    vectors = [np.full(3, number, dtype=np.uint64)] * 10
    assert Handed().sum(vectors).numbers.tolist() == [10 * number % 2**64] * 3


def test_quantisation_leaves_every_limb_as_it_is():
    limbs = np.arange(2**16, dtype=np.float64)
    (found,) = quantize([limbs - secagg._CENTRE], secagg._CENTRE, 2**16)
    np.testing.assert_array_equal(found, limbs)


@pytest.mark.parametrize("owners", [3, 10, 1023, 65_535])
@pytest.mark.parametrize("limb", [0, 1, 40_000, 2**16 - 1])
def test_a_mean_gives_back_the_sum_of_limbs(owners, limb):
    # As at the end of Flower's unmask stage, for numbers of owners too many to play.
    totals = []
    strategy = secagg._OneSum(owners, totals.append)
    shifted = np.full(4, owners * limb, dtype=np.int64).astype(float) - secagg._CENTRE
    shifted += -(owners - 1) * secagg._CENTRE
    shifted *= 2**16 / np.int64(owners * 2**16)

    class Report:
        metrics = {"owner": 0}
        parameters = None

    from flwr.common import ndarrays_to_parameters

    Report.parameters = ndarrays_to_parameters([shifted])
    strategy.aggregate_fit(1, [(None, Report)] * owners, [])
    sums = sum(owners * limb << (16 * k) for k in range(4)) % 2**64
    assert totals[0].numbers.tolist() == [sums]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("lost", [(4,), (0, 5)])
def test_owners_may_drop_out_at_any_stage(stage, lost):
    vectors = vectors_of(6)
    total = Handed(2, [(place, stage) for place in lost]).sum(vectors)
    in_it = set(range(6)) - (set() if stage == Stage.UNMASK else set(lost))
    assert set(total.owners) == in_it
    assert total.numbers.tolist() == reference(vectors, in_it)


def test_owners_may_drop_out_at_different_stages():
    vectors = vectors_of(10)
    total = Handed(4, zip((1, 2, 5, 9), STAGES, strict=True)).sum(vectors)
    assert total.owners == (0, 3, 4, 6, 7, 8, 9)
    assert total.numbers.tolist() == reference(vectors, total.owners)


@pytest.mark.parametrize("stage", STAGES)
def test_too_few_owners_open_nothing(stage):
    with pytest.raises(SumError):
        Handed(2, [(place, stage) for place in (1, 3, 5)]).sum(vectors_of(6))


@pytest.mark.parametrize("stage", STAGES[:3])
@pytest.mark.parametrize("place", [0, 1])
def test_without_an_owner_that_is_needed_no_share_is_sent(stage, place):
    vectors = vectors_of(6)
    app = secagg.owner_app(vectors.__getitem__)
    totals, grid = run(app, 6, 2, 2, [(place, stage)])
    assert totals == []
    assert {seen for _, seen in grid.seen} == set(STAGES[:3])
    totals, _ = run(app, 6, 2, 2, [(place + 2, stage)])
    assert len(totals) == 1


def test_an_owner_whose_vector_fails_drops_out_and_its_error_goes_nowhere():
    vectors = vectors_of(6)

    def vector(place):
        if place == 4:
            raise ValueError("the secret is 123456")
        return vectors[place]

    totals, grid = run(secagg.owner_app(vector), 6, 0, 1)
    assert totals[0].owners == (0, 1, 2, 3, 5)
    failures = [reply for reply in grid.replies if isinstance(reply, str)]
    assert len(failures) == 1
    assert "123456" not in str(failures)


def test_two_owners_at_one_place_open_nothing():
    vectors = vectors_of(4)
    app = secagg.owner_app(vectors.__getitem__)
    totals = []
    server = secagg.aggregator_app(4, 0, 1, 10.0, totals.append)
    grid = HandOver(app, 4)
    grid.contexts[1003].node_config["partition-id"] = 2
    server(grid, Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={}))
    assert totals == []


def test_an_upload_shows_nothing_of_the_vector():
    # All owners hold zeros: without masks every number would be 0; masked they are
    # spread over 32 bits, each bit as often 0 as 1.
    vectors = [np.zeros(4096, dtype=np.uint64)] * 3
    app = secagg.owner_app(vectors.__getitem__)
    _, grid = run(app, 3)
    uploads = masked_uploads(grid)
    assert len(uploads) == 3
    for numbers in uploads:
        assert numbers.min() >= 0
        assert numbers.max() < 2**32
        bits = (numbers[:, None] >> np.arange(32)) & 1
        # 16,384 fair bits stay within 7 standard deviations.
        assert np.abs(bits.mean(axis=0) - 0.5).max() < 7 * 0.5 / 128


def masked_uploads(grid):
    from flwr.common import bytes_to_ndarray

    found = []
    for reply in grid.replies:
        asked = reply.content.config_records.get(RECORD_KEY_CONFIGS, {})
        if Key.MASKED_PARAMETERS in asked:
            found.append(bytes_to_ndarray(asked[Key.MASKED_PARAMETERS][1]))
    return found


def test_masks_depend_on_the_whole_secret_where_flowers_depend_on_32_bits_of_it():
    one, other = bytes(32), bytes(24) + b"abcdabcd"  # the same exclusive or of words
    theirs = [pseudo_rand_gen(seed, 2**32, [(64,)])[0] for seed in (one, other)]
    np.testing.assert_array_equal(*theirs)
    ours = [secagg._masks(seed, 2**32, [(64,)])[0] for seed in (one, other)]
    assert np.count_nonzero(ours[0] == ours[1]) == 0
    shaped = secagg._masks(one, 2**16, [(1,), (2, 3)])
    assert [mask.shape for mask in shaped] == [(1,), (2, 3)]
    assert all(mask.max() < 2**16 for mask in shaped)


def test_flowers_own_modules_keep_their_masks():
    vectors = vectors_of(3)
    Handed().sum(vectors)
    assert secaggplus_mod.__globals__["pseudo_rand_gen"] is pseudo_rand_gen
    theirs = SecAggPlusWorkflow.unmask_stage.__globals__
    assert theirs["pseudo_rand_gen"] is pseudo_rand_gen


def test_an_owner_with_flowers_masks_garbles_the_sum_which_is_refused():
    vectors = vectors_of(4)
    ours = secagg.owner_app(vectors.__getitem__)
    from flwr.client import NumPyClient

    class Plain(NumPyClient):
        def fit(self, parameters, config):  # noqa: ARG002 -- Flower's
            return [np.zeros(28)], 1, {"owner": 3}

    theirs = ClientApp(client_fn=lambda _: Plain().to_client(), mods=[secaggplus_mod])

    def app(message, context):
        return (theirs if context.node_id == 1003 else ours)(message, context)

    with pytest.raises(SumError, match="garbled"):
        run(app, 4)


@pytest.mark.parametrize(
    "change",
    [
        {Key.CLIPPING_RANGE: 8.0},
        {Key.TARGET_RANGE: 2**22},
        {Key.MOD_RANGE: 2**24},
        {Key.MAX_WEIGHT: 1000.0},
        {Key.SHARE_NUMBER: 3},
        {Key.THRESHOLD: 2},
        {Key.SAMPLE_NUMBER: 2, Key.SHARE_NUMBER: 2},
    ],
)
def test_an_owner_refuses_another_protocol(change):
    app = secagg.owner_app(vectors_of(5).__getitem__)

    def changed(message, context):
        asked = message.content.config_records[RECORD_KEY_CONFIGS]
        if asked[Key.STAGE] == Stage.SETUP:
            asked.update(change)
        return app(message, context)

    totals, grid = run(changed, 5)
    assert totals == []
    assert all("another protocol" in reply for reply in grid.replies)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ((2, 0, 0, 1.0), "owners"),
        ((2**16, 0, 0, 1.0), "owners"),
        ((10, 11, 0, 1.0), "needed"),
        ((10, 0, 5, 1.0), "drop_outs"),
        ((10, 0, -1, 1.0), "drop_outs"),
        ((10, 0, 0, 0.0), "timeout"),
    ],
)
def test_a_bad_number_is_named(numbers, named):
    with pytest.raises(ParameterError, match=named) as caught:
        secagg.aggregator_app(*numbers, print)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("noise", ["aggregator", "owners"])
def test_the_three_sums_give_one_release(noise):
    rng = np.random.default_rng(0)
    owners = [rng.normal(3.0, 1.0, size) for size in (4, 9, 1, 0)]
    query = SummedQuery(LinearGrid(0.0, 6.0, 1.0), 1.0, noise)
    found = [
        release_summed_ecdf(owners, query, summing, SeededSource(1)).counts.tolist()
        for summing in (InProcessSum(), Handed(), PointwiseSum(Handed()))
    ]
    assert found[0] == found[1] == found[2]


def test_two_to_the_sixteen_thresholds_travel_in_one_round():
    vectors = vectors_of(10, 2**16 + 1)
    begin = time.perf_counter()
    total = Handed(4, [(9, Stage.COLLECT_MASKED_VECTORS)]).sum(vectors, 2)
    seconds = time.perf_counter() - begin
    assert total.numbers.tolist() == reference(vectors, range(9))
    print(f"10 owners, 2^16 thresholds: {seconds:.1f} s in one process")  # noqa: T201
