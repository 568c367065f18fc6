"""Sixty-four counters that stay in registers: how many numbers so far were higher than each.

Numba knows no vectors, so these are written for LLVM, which makes of them what the processor has.
Kept in an array, the counters would have to be stored before they can be loaded again, and every
number would wait for the one before it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

__all__ = ["COUNTERS", "MOST_COUNTED", "count_higher", "higher_before", "nothing_counted"]

#: Counters, and numbers that differ: 0 to 63.
COUNTERS = 64
#: Numbers that may be counted; a counter has 16 bits.
MOST_COUNTED = 2**15

_intrinsic: Any = extending.intrinsic  # what it makes is called without its first argument
_ITEM, _PLACE = ir.IntType(16), ir.IntType(32)
_ITEMS, _PLACES = ir.VectorType(_ITEM, COUNTERS), ir.VectorType(_PLACE, COUNTERS)


class _Counters(types.Type):
    def __init__(self) -> None:
        super().__init__("Counters")


_COUNTERS = _Counters()


@extending.register_model(_Counters)
class _InRegisters(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:  # noqa: ANN401
        super().__init__(manager, kind, _ITEMS)  # type: ignore[no-untyped-call]


@_intrinsic
def nothing_counted(typing: Any) -> Any:  # noqa: ANN401, ARG001
    """Return counters of 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401, ARG001
        return ir.Constant(_ITEMS, [0] * COUNTERS)

    return _COUNTERS(), code


@_intrinsic
def count_higher(typing: Any, counters: Any, number: Any) -> Any:  # noqa: ANN401, ARG001
    """Return the counters with one more in each below `number`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401, ARG001
        held, number = arguments
        nothing = ir.Constant(_ITEMS, ir.Undefined)
        small = builder.insert_element(nothing, builder.trunc(number, _ITEM), _PLACE(0))
        all_alike = builder.shuffle_vector(small, nothing, ir.Constant(_PLACES, [0] * COUNTERS))
        below = builder.icmp_unsigned("<", ir.Constant(_ITEMS, [*range(COUNTERS)]), all_alike)
        return builder.add(held, builder.zext(below, _ITEMS))

    return _COUNTERS(_COUNTERS, types.uint64), code


@_intrinsic
def higher_before(typing: Any, counters: Any, scratch: Any, number: Any) -> Any:  # noqa: ANN401, ARG001
    """Return the counter of `number`; `scratch` has 64 entries of type uint16."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        held, array, number = arguments
        data = context.make_array(signature.args[1])(context, builder, array).data
        builder.store(held, builder.bitcast(data, _ITEMS.as_pointer()), align=2)
        return builder.zext(builder.load(builder.gep(data, [number])), ir.IntType(64))

    return types.uint64(_COUNTERS, scratch, types.uint64), code
