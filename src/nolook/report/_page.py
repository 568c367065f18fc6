"""What the pages of all releases share: the frame, the guarantee, the costs and the origin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from nolook._version import __version__
from nolook.estimators._selector import chosen_columns
from nolook.estimators.catalogue import called, entry_of, own_parameters
from nolook.privacy.guarantee import GaussianEvent
from nolook.report._markup import count, meter, named, row, section, table_of
from nolook.report.summary import certainty_in_words, number, spending

if TYPE_CHECKING:
    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateEstimator
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.report.origin import Origin

__all__ = [
    "banner",
    "figures",
    "guarantee_section",
    "how_it_was_made",
    "page",
    "parameters_of",
    "privacy_figure",
    "selection_section",
    "spending_section",
    "words_of",
]

_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)

_ROWS_HIDDEN = "The number of rows is protected too, which is why this page does not tell it."


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page; the parts of its body are HTML, empty ones are left out."""
    style = files("nolook.report").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            # Nothing may be loaded or run, whatever a column is called.
            _POLICY,
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            '<p class="kicker">nolook report</p>',
            *filter(None, body),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def banner(origin: Origin) -> str:
    """Say loudly that a release is not private, if it is not."""
    if origin.guarantee.private:
        return ""
    _, reason = origin.why_not_private()
    return (
        '<div class="banner" role="alert"><strong>NOT PRIVATE</strong>'
        f"<p>{escape(reason)} This page is for experiments with public data; "
        "do not give it out as a private release.</p></div>"
    )


def privacy_figure(origin: Origin) -> tuple[str, str, str]:
    """Return the guarantee as a head, a large and a small text."""
    guarantee = origin.guarantee
    if not guarantee.private:
        return "Privacy", "none", escape(origin.why_not_private()[0])
    large = f"epsilon {number(guarantee.epsilon)}"
    return "Privacy loss", large, f"delta {number(guarantee.delta)}"


def figures(shown: Iterable[tuple[str, str, str]]) -> str:
    """Return a row of cards, each of a head, a large and a small text; all are HTML."""
    cards = "\n".join(
        f'<div><dt>{head}</dt><dd><span class="big">{big}</span><br>'
        f'<span class="quiet">{small}</span></dd></div>'
        for head, big, small in shown
    )
    return f'<dl class="figures">\n{cards}\n</dl>'


def guarantee_section(origin: Origin, about_rows: str = _ROWS_HIDDEN) -> str:
    """Say what is promised, what that means, and in a sentence how the number of rows fares."""
    guarantee = origin.guarantee
    meaning = (
        "The guarantee holds for any table and against someone who knows all of its other rows. "
        f"{about_rows} What is true of the population can still be learned: that is what the "
        "release is for."
    )
    return section(
        "guarantee",
        "The guarantee",
        f"<p>{escape(guarantee.in_words())}</p>",
        f"<p>{escape(certainty_in_words(guarantee))}</p>" if guarantee.private else "",
        f'<p class="quiet">{meaning}</p>' if guarantee.private else "",
        kind="guarantee",
    )


def selection_section(origin: Origin) -> str:
    """List the columns that were chosen, nothing where none were."""
    selector = origin.selector
    if selector is None:
        return ""
    chosen, ordered = chosen_columns(selector)
    caption = f"{len(chosen)} of {count(selector.n_features_in_, 'column')}"
    doubts = (
        "The choice is random: a column that is not here may matter all the same, and with few "
        "rows or a small budget one that is here may not."
    )
    if len(origin.steps) > 1:
        doubts += " Everything below takes these columns as given, intervals too."
    places: Iterable[Sequence[str]] = ((str(place),) for place in range(1, len(chosen) + 1))
    return section(
        "selection",
        "The columns chosen",
        f"<p>{escape(words_of(selector))}</p>",
        table_of(
            f"{caption}, in the order they were drawn in" if ordered else caption,
            ("Column", "Drawn as number") if ordered else ("Column",),
            (
                row(name, place if ordered else ())
                for name, place in zip(chosen, places, strict=True)
            ),
        ),
        f'<p class="note">{doubts}</p>',
    )


def spending_section(origin: Origin) -> str:
    """Say what each step of a release spent on what."""
    parts = origin.steps
    tables = [_spent(guarantee, name if len(parts) > 1 else None) for name, guarantee in parts]
    squares = (
        "The parts of Gaussian noise compose: the squares of their mu add up. "
        if any(isinstance(event, GaussianEvent) for event in origin.guarantee.mechanisms)
        else ""
    )
    sums = "The epsilons and the deltas of the steps add up. " if len(parts) > 1 else ""
    return section(
        "spending",
        "What was spent on what",
        *tables,
        f'<p class="note">{sums}{squares}'
        "Everything else on this page was computed from these releases and costs nothing.</p>",
    )


def _spent(guarantee: PrivacyGuarantee, step: str | None) -> str:
    parts = spending(guarantee)
    releases = count(len(parts), "noisy release")
    stay = "which stays" if len(parts) == 1 else "which together stay"
    caption = f"{releases}, {stay} within the budget"
    if step is not None:
        cost = f"epsilon = {number(guarantee.epsilon)}, delta = {number(guarantee.delta)}"
        caption = f"{step.capitalize()}, with {cost}: {releases}"
    return table_of(
        caption,
        ("Released", "Mechanism", "Cost", f"Share of the {'budget' if step is None else 'step'}"),
        (row(part.name, (part.mechanism, part.cost, meter(part.share))) for part in parts),
    )


def how_it_was_made(origin: Origin, settings: Sequence[tuple[str, str]]) -> str:
    """List a release's own settings, those of its selection and those all releases have."""
    guarantee = origin.guarantee
    noise = (
        ("Noise", "operating system's entropy")
        if guarantee.private
        else ("Not private because of", origin.why_not_private()[0])
    )
    everything = [
        *settings,
        *_selection_settings(origin.selector),
        ("epsilon", repr(guarantee.epsilon)),
        ("delta", repr(guarantee.delta)),
        ("Neighbouring tables", f"{guarantee.relation} of one {guarantee.unit}"),
        ("Missing values", origin.missing),
        noise,
        ("Made with", f"nolook {__version__}"),
    ]
    entries = "\n".join(
        f"<dt>{head}</dt><dd>{named(str(value))}</dd>" for head, value in everything
    )
    return section("settings", "How it was made", f'<dl class="settings">\n{entries}\n</dl>')


def _selection_settings(selector: PrivateSelector | None) -> list[tuple[str, str]]:
    if selector is None:
        return []
    return [
        ("Chosen from", ", ".join(selector.feature_names_in_)),
        ("Selector", called(selector)),
        *parameters_of(selector, "Parameters of the selector"),
    ]


def words_of(estimator: PrivateEstimator) -> str:
    """Say how a method or selector works; nothing of one that is not in the catalogue."""
    entry = entry_of(estimator)
    return "" if entry is None else entry.explanation


def parameters_of(part: PrivateEstimator, head: str) -> list[tuple[str, str]]:
    """Return what was set for one step besides its budget, as one entry under a head, or none."""
    own = ", ".join(f"{name}={value!r}" for name, value in own_parameters(part).items())
    return [(head, own)] if own else []
