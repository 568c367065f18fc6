"""Decisions about real random numbers, made certain by as many of their bits as it takes.

Nothing here draws at random by itself: a `LazyUniform` gets further bits from the function it was
made with, and functions extend it until the answer is certain. All comparisons are between
enclosures with outward rounding, so no rounding decides one. The proof is in `noise.md`.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_WORD_BITS = 64
_MOST_BITS = 64 * _WORD_BITS
_INFINITY = Decimal("Infinity")


class LazyUniform:
    """A uniform real number U of [0, 1], of which the first binary digits are known.

    What is known is value <= 2**bits U <= value + 1: the 64 digits of `word`, and those that `draw`
    returned, 64 at a time and independent of everything drawn before.
    """

    __slots__ = ("_draw", "bits", "value")

    def __init__(self, word: int, draw: Callable[[], int]) -> None:
        self.value = word
        self.bits = _WORD_BITS
        self._draw = draw

    def extend(self) -> None:
        """Learn 64 more binary digits.

        After 4096 digits it raises RuntimeError: with random digits the probability of needing that
        many is below 2**-1900, so their source is broken.
        """
        if self.bits >= _MOST_BITS:
            raise RuntimeError(
                f"the source of random bytes is broken: {_MOST_BITS} bits did not decide a draw"
                " (check the operating system's entropy)"
            )
        self.value = self.value << _WORD_BITS | self._draw()
        self.bits += _WORD_BITS

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Return the ends of the interval U is known to lie in."""
        unit = 1 << self.bits
        return Fraction(self.value, unit), Fraction(self.value + 1, unit)


def floor_exponential(uniform: LazyUniform, scale: Fraction) -> int:
    """Return floor(-scale ln U), a geometric number, for a scale above 0."""
    while True:
        down, up = contexts(uniform.bits)
        low, high = _exponential_bounds(uniform, down, up)
        if high != _INFINITY:
            numerator, denominator = Decimal(scale.numerator), Decimal(scale.denominator)
            least = int(down.divide(down.multiply(low, numerator), denominator))
            if least == int(up.divide(up.multiply(high, numerator), denominator)):
                return least
        uniform.extend()


def below_exponential(
    uniform: LazyUniform, exponent: Callable[[], tuple[Fraction, Fraction]], *others: LazyUniform
) -> bool:
    """Return whether U < exp(-c), an event of probability exp(-c).

    `exponent` returns an enclosure of c >= 0 from what is known of `others`, the numbers c depends
    on, which are independent of U and extended along with it.
    """
    while True:
        down, up = contexts(uniform.bits)
        least, most = exponent()
        low = down.next_minus(down.exp(to_decimal(most, up).copy_negate()))
        high = up.next_plus(up.exp(to_decimal(least, down).copy_negate()))
        smallest, largest = (
            to_decimal(bound, context)
            for bound, context in zip(uniform.bounds(), (down, up), strict=True)
        )
        if largest <= low:
            return True
        if smallest >= high:
            return False
        uniform.extend()
        for other in others:
            other.extend()


def accept_gaussian(
    uniform: LazyUniform, whole: int, rest: int, ratio: Fraction, draw: Callable[[], int]
) -> bool:
    """Decide whether a proposal whole + F for half a normal distribution is kept.

    It is if U < exp(-((whole + F) / ratio - 1)^2 / 2 - F / ratio). `rest` has the first 64 binary
    digits of F, `draw` returns 64 more, and `ratio` is the standard deviation in the proposal's
    unit.
    """
    fraction = LazyUniform(rest, draw)

    def exponent() -> tuple[Fraction, Fraction]:
        # The same exponent in a form that plainly increases with F.
        low, high = (
            (whole + end) ** 2 / (2 * ratio**2) - whole / ratio + Fraction(1, 2)
            for end in fraction.bounds()
        )
        return low, high

    return below_exponential(uniform, exponent, fraction)


def gumbel_winner(gaps: Sequence[Fraction], uniforms: Sequence[LazyUniform]) -> int:
    """Return the i with the largest -gap_i - ln(-ln U_i).

    A gap is how far a score lies below the best one, in units of the noise's scale.
    """
    return _last_standing(lambda i: _gumbel_bounds(gaps[i], uniforms[i]), uniforms)


def class_winner(
    gaps: Sequence[Fraction], sizes: Sequence[int], uniforms: Sequence[LazyUniform]
) -> int:
    """Return the i with the largest -gap_i - ln(1 - U_i^(1/size_i)); sizes have any size from 1."""
    return _last_standing(lambda i: _class_bounds(gaps[i], sizes[i], uniforms[i]), uniforms)


def _last_standing(
    enclose: Callable[[int], tuple[Decimal, Decimal]], uniforms: Sequence[LazyUniform]
) -> int:
    """Return the position of the largest value, extending uniform numbers until it is certain."""
    standing = list(range(len(uniforms)))
    while True:
        bounds = [enclose(i) for i in standing]
        best = max(low for low, _ in bounds)
        standing = [i for i, (_, high) in zip(standing, bounds, strict=True) if high >= best]
        if len(standing) == 1:
            return standing[0]
        for i in standing:
            uniforms[i].extend()


def contexts(bits: int) -> tuple[Context, Context]:
    """Return contexts rounding down and up, with digits to spare for numbers of `bits` bits."""
    digits = bits // 3 + 20
    return (
        Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX),
        Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX),
    )


def to_decimal(number: Fraction, context: Context) -> Decimal:
    """Return a fraction as a decimal, rounded in the context's direction."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _log_bounds(low: Decimal, high: Decimal, down: Context, up: Context) -> tuple[Decimal, Decimal]:
    """Enclose the logarithms of the numbers between two positive ones.

    `decimal` rounds a logarithm to nearest whatever the context's direction, so one step outwards
    encloses it.
    """
    return down.next_minus(down.ln(low)), up.next_plus(up.ln(high))


def _exponential_bounds(
    uniform: LazyUniform, down: Context, up: Context
) -> tuple[Decimal, Decimal]:
    """Enclose -ln U, a standard exponential number."""
    smallest, largest = uniform.bounds()
    if smallest == 0:
        _, most = _log_bounds(to_decimal(largest, down), to_decimal(largest, up), down, up)
        return most.copy_negate(), _INFINITY
    least, most = _log_bounds(to_decimal(smallest, down), to_decimal(largest, up), down, up)
    return max(Decimal(0), most.copy_negate()), least.copy_negate()


def _gumbel_bounds(gap: Fraction, uniform: LazyUniform) -> tuple[Decimal, Decimal]:
    """Enclose -gap - ln(-ln U); an end not known yet is infinite."""
    down, up = contexts(uniform.bits)
    low, high = _exponential_bounds(uniform, down, up)
    return _minus_gap_and_log(gap, low, high, down, up)


def _class_bounds(gap: Fraction, size: int, uniform: LazyUniform) -> tuple[Decimal, Decimal]:
    """Enclose -gap - ln(1 - U^(1/size)); the upper end is infinite while U could be 1."""
    down, up = contexts(uniform.bits)
    low, high = (
        context.divide(end, Decimal(size))
        for end, context in zip(_exponential_bounds(uniform, down, up), (down, up), strict=True)
    )
    low, high = _complement(low, down, up)[0], _complement(high, down, up)[1]
    return _minus_gap_and_log(gap, low, high, down, up)


def _minus_gap_and_log(
    gap: Fraction, low: Decimal, high: Decimal, down: Context, up: Context
) -> tuple[Decimal, Decimal]:
    """Enclose -gap - ln x for x from low to high, ends that may be 0 or infinite."""
    least, most = _log_bounds(low, high, down, up)
    return (
        down.subtract(most.copy_negate(), to_decimal(gap, up)),
        up.subtract(least.copy_negate(), to_decimal(gap, down)),
    )


def _complement(exponent: Decimal, down: Context, up: Context) -> tuple[Decimal, Decimal]:
    """Enclose 1 - exp(-exponent), keeping its digits however small it is."""
    if exponent == _INFINITY:
        return Decimal(1), Decimal(1)
    if exponent == 0:
        return Decimal(0), Decimal(0)
    fine_down, fine_up = down.copy(), up.copy()
    fine_down.prec = fine_up.prec = down.prec + max(0, -exponent.adjusted())
    power = fine_down.exp(exponent.copy_negate())
    low = down.subtract(Decimal(1), fine_up.next_plus(power))
    high = up.subtract(Decimal(1), fine_down.next_minus(power))
    return max(Decimal(0), low), high
