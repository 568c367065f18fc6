"""A secure sum by Flower's SecAgg+: pairwise masks, and owners that drop out.

`FlowerSum` plays all owners in Flower's simulation. A real federation runs `owner_app` at every
owner (each SuperNode with its own place, from 0 on, as ``--node-config partition-id=PLACE``) and
`aggregator_app` at the aggregator. Telemetry of Flower and Ray is off unless the environment turns
it on. `secagg.md` says why the sum is exact, why the masks are not Flower's, and who must be
trusted.

It is made for tens of owners: sharing every secret among all takes time that grows with the cube
of their number.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_count, check_positive
from nolook.errors import ParameterError
from nolook_flower.secure_sum import SumError, Total, Words, check_sum

__all__ = ["FlowerSum", "aggregator_app", "owner_app", "simulate"]

#: Of Flower's own types.
Theirs: TypeAlias = Any

_LIMB_BITS = 16
_LIMBS = 64 // _LIMB_BITS
_CENTRE = 2.0 ** (_LIMB_BITS - 1)
_MODULUS = 2**32
_MOST_OWNERS = 2**16 - 1
_LEAST_OWNERS = 3
_OWNER = "owner"
_MASK = b"nolook mask 1"
_QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}


class FlowerSum:
    """SecAgg+ among owners played by Flower's simulation, on this machine only.

    Parameters
    ----------
    drop_outs : int
        How many owners may be missing; fewer than half of them.
    timeout : float, default=600.0
        Seconds to wait at every stage for owners that do not answer.
    """

    def __init__(self, drop_outs: int, timeout: float = 600.0) -> None:
        self.drop_outs = drop_outs
        self.timeout = timeout

    def sum(self, vectors: Sequence[Words], needed: int = 0) -> Total:
        """Add up vectors; see :class:`~nolook_flower.secure_sum.SecureSum`."""
        check_sum(vectors, needed)
        return simulate(
            owner_app(vectors.__getitem__), len(vectors), needed, self.drop_outs, self.timeout
        )


def owner_app(vector: Callable[[int], Words]) -> Theirs:
    """Return an owner's side of the protocol.

    Parameters
    ----------
    vector : callable
        Gives the vector of the owner at a place. It is called once a sum, after keys are
        agreed. An error in it makes the owner drop out, and its text goes nowhere.

    Returns
    -------
    flwr.clientapp.ClientApp
    """
    _be_quiet()
    from flwr.client import NumPyClient
    from flwr.clientapp import ClientApp

    class Owner(NumPyClient):  # type: ignore[misc,unused-ignore]
        def __init__(self, place: int) -> None:
            self.place = place

        def fit(
            self, parameters: Theirs, config: Theirs
        ) -> tuple[list[Theirs], int, dict[str, int]]:
            del parameters, config
            try:
                numbers = _limbs(vector(self.place)) - _CENTRE
            except Exception:  # noqa: BLE001 -- its text may quote data, and would be sent
                raise SumError("an owner has no vector to send") from None
            return [numbers], 1, {_OWNER: self.place}

    def owner(context: Theirs) -> Theirs:
        return Owner(int(context.node_config["partition-id"])).to_client()

    return ClientApp(client_fn=owner, mods=[_masked])


def aggregator_app(
    owners: int, needed: int, drop_outs: int, timeout: float, opened: Callable[[Total], None]
) -> Theirs:
    """Return the aggregator's side of the protocol: one sum, started when all owners are there.

    Parameters
    ----------
    owners : int
        From 3 to 65,535.
    needed : int
        So many first owners must be in the sum.
    drop_outs : int
        How many owners may be missing; fewer than half of them.
    timeout : float
        Seconds to wait at every stage for owners that do not answer.
    opened : callable
        Is given the sum; it is not called if there is none.

    Returns
    -------
    flwr.serverapp.ServerApp

    Raises
    ------
    ParameterError
        If a number is out of range.
    """
    _check_numbers(owners, needed, drop_outs, timeout)
    _be_quiet()
    from flwr.server import LegacyContext, ServerConfig
    from flwr.server.workflow import DefaultWorkflow
    from flwr.serverapp import ServerApp

    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator,unused-ignore]
    def main(grid: Theirs, context: Theirs) -> None:
        legacy = LegacyContext(
            context=context,
            config=ServerConfig(num_rounds=1),
            strategy=_OneSum(owners, opened),
        )
        summing = _workflow()(
            1.0,  # every owner shares its secrets with all others
            owners - drop_outs,
            max_weight=1.0,
            clipping_range=_CENTRE,
            quantization_range=2**_LIMB_BITS,
            modulus_range=_MODULUS,
            timeout=timeout,
        )
        summing.needed = needed
        DefaultWorkflow(fit_workflow=summing)(grid, legacy)

    return app


def simulate(app: Theirs, owners: int, needed: int, drop_outs: int, timeout: float) -> Total:
    """Run one sum in Flower's simulation, on the loopback interface.

    Parameters
    ----------
    app : flwr.clientapp.ClientApp
        From `owner_app`.
    owners, needed, drop_outs, timeout
        As in `aggregator_app`.

    Returns
    -------
    Total

    Raises
    ------
    ParameterError
        If a number is out of range.
    SumError
        If no sum was opened.
    """
    totals: list[Total] = []
    server = aggregator_app(owners, needed, drop_outs, timeout, totals.append)
    from flwr.simulation import run_simulation

    run_simulation(
        server_app=server,
        client_app=app,
        num_supernodes=owners,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"include_dashboard": False, "_node_ip_address": "127.0.0.1"},
        },
    )
    if not totals:
        raise SumError("no sum was opened: too few owners took part, or not those that must")
    return totals[0]


def _check_numbers(owners: int, needed: int, drop_outs: int, timeout: float) -> None:
    check_count(owners, "owners", _MOST_OWNERS)
    if owners < _LEAST_OWNERS:
        raise ParameterError(f"owners is {owners}; expected at least {_LEAST_OWNERS}")
    if not 0 <= needed <= owners:
        raise ParameterError(f"needed is {needed!r}; expected an integer from 0 to {owners}")
    if not 0 <= 2 * drop_outs < owners:
        raise ParameterError(
            f"drop_outs is {drop_outs!r}; expected fewer than half of the {owners} owners"
        )
    check_positive(timeout, "timeout")


def _be_quiet() -> None:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


def _limbs(words: Words) -> NDArray[np.float64]:
    """Cut each number in limbs, the least first."""
    little: NDArray[np.uint16] = words.astype("<u8").view("<u2")
    return little.astype(np.float64)


def _words(limbs: NDArray[np.float64]) -> Words:
    """Put sums of limbs together, modulo 2^64."""
    sums = limbs.astype(np.uint64).reshape(-1, _LIMBS)
    shifts = np.arange(_LIMBS, dtype=np.uint64) * np.uint64(_LIMB_BITS)
    words: Words = np.sum(sums << shifts, axis=1, dtype=np.uint64)
    return words


class _OneSum:
    """What Flower calls a strategy: all owners, one round, nothing but their sum."""

    def __init__(self, owners: int, opened: Callable[[Total], None]) -> None:
        self.owners = owners
        self.opened = opened

    def initialize_parameters(self, client_manager: Theirs) -> Theirs:  # noqa: ARG002 -- Flower's
        from flwr.common import ndarrays_to_parameters

        return ndarrays_to_parameters([np.zeros(1)])

    def configure_fit(
        self, server_round: int, parameters: Theirs, client_manager: Theirs
    ) -> list[Theirs]:
        del server_round
        from flwr.common import FitIns

        clients = client_manager.sample(num_clients=self.owners, min_num_clients=self.owners)
        return [(client, FitIns(parameters, {})) for client in clients]

    def aggregate_fit(
        self, server_round: int, results: Theirs, failures: Theirs
    ) -> tuple[None, Theirs]:
        del server_round, failures
        from flwr.common import parameters_to_ndarrays

        reports = [report for _, report in results]
        (means,) = parameters_to_ndarrays(reports[0].parameters)
        limbs = np.rint(means * len(reports)) + len(reports) * _CENTRE
        if not np.all((limbs >= 0) & (limbs < len(reports) * 2**_LIMB_BITS)):
            raise SumError("the sum is garbled: not all owners followed the same protocol")
        self.opened(Total(_words(limbs), tuple(sorted(_places(reports)))))
        return None, {}

    def configure_evaluate(
        self, server_round: int, parameters: Theirs, client_manager: Theirs
    ) -> Theirs:
        del server_round, parameters, client_manager
        return []

    def aggregate_evaluate(self, server_round: int, results: Theirs, failures: Theirs) -> Theirs:
        del server_round, results, failures
        return None, {}

    def evaluate(self, server_round: int, parameters: Theirs) -> None:
        del server_round, parameters


def _places(reports: list[Theirs]) -> list[int]:
    """Return the places of the owners that sent a vector."""
    return [int(report.metrics[_OWNER]) for report in reports]


@cache
def _workflow() -> Theirs:
    """Return the aggregator's protocol: Flower's, with our masks and two more rules."""
    flower = _masked_copy("flwr.server.workflow.secure_aggregation.secaggplus_workflow")

    class Workflow(flower.SecAggPlusWorkflow):  # type: ignore[misc,name-defined,unused-ignore]
        needed = 0

        def share_keys_stage(self, grid: Theirs, context: Theirs, state: Theirs) -> bool:
            """Share keys; owners that did not are out, as no one holds shares of theirs."""
            enough = super().share_keys_stage(grid, context, state)
            state.sampled_node_ids = set(state.active_node_ids)
            for neighbours in state.nid_to_neighbours.values():
                neighbours.intersection_update(state.sampled_node_ids)
            return bool(enough)

        def unmask_stage(self, grid: Theirs, context: Theirs, state: Theirs) -> bool:
            """Ask for what opens the sum, if those needed are in it and each owner once."""
            places = _places([report for _, report in state.legacy_results])
            if len(set(places)) < len(places) or not set(range(self.needed)) <= set(places):
                return False
            return bool(super().unmask_stage(grid, context, state))

    return Workflow


def _masked(message: Theirs, context: Theirs, call_next: Theirs) -> Theirs:
    """Run an owner's protocol: Flower's, with our masks and a check of what it is asked."""
    from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key, Stage

    flower = _masked_copy("flwr.client.mod.secure_aggregation.secaggplus_mod")
    asked = message.content.config_records.get(RECORD_KEY_CONFIGS, {})
    if asked.get(Key.STAGE) == Stage.SETUP and not (
        asked[Key.CLIPPING_RANGE] == _CENTRE
        and asked[Key.TARGET_RANGE] == 2**_LIMB_BITS
        and asked[Key.MOD_RANGE] == _MODULUS
        and asked[Key.MAX_WEIGHT] == 1.0
        and _LEAST_OWNERS <= asked[Key.SAMPLE_NUMBER] <= _MOST_OWNERS
        and asked[Key.SHARE_NUMBER] == asked[Key.SAMPLE_NUMBER]
        and 2 * asked[Key.THRESHOLD] > asked[Key.SAMPLE_NUMBER]
    ):
        raise SumError("the aggregator asks for another protocol")
    return flower.secaggplus_mod(message, context, call_next)


@cache
def _masked_copy(name: str) -> ModuleType:
    """Load a private copy of a module of Flower whose masks are ours."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no {name} in this version of flwr")
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    if not hasattr(copy, "pseudo_rand_gen"):
        raise ImportError(f"{name} makes its masks in another way in this version of flwr")
    copy.pseudo_rand_gen = _masks  # type: ignore[attr-defined]
    return copy


def _masks(
    seed: bytes, num_range: int, dimensions_list: list[tuple[int, ...]]
) -> list[NDArray[np.int64]]:
    """Expand a secret, used for nothing else, to uniform numbers below a power of two."""
    sizes = [math.prod(shape) for shape in dimensions_list]
    stream = hashlib.shake_256(_MASK + seed).digest(4 * sum(sizes))
    numbers = np.frombuffer(stream, dtype="<u4").astype(np.int64) & (num_range - 1)
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, dimensions_list, strict=True)]
