"""The pictures of the distribution benchmark, after Barczewski, Mawass and Ramon (2024)."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np

mpl.use("svg")

from matplotlib import pyplot as plt

__all__ = [
    "ROC_STYLES",
    "draw",
    "inverse",
    "roc",
    "roc_errors",
    "smoothing",
    "statistic",
    "times",
]

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "nolook", "font.size": 8, "axes.grid": True}
ROC_STYLES = {"grid, unsmoothed": "C7-", "grid": "C0-"}
_MOST_VERTICES = 500


def smoothing(epsilons, by_epsilon, rates, by_rate):
    """Draw squared errors smoothed over unsmoothed (figures 2 and 3)."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
    panels = {"epsilon (rate 3)": (epsilons, by_epsilon), "rate (epsilon 1)": (rates, by_rate)}
    for axis, (label, (xs, found)) in zip(axes, panels.items(), strict=True):
        for norm in found[0]:
            axis.plot(xs, [each[norm] for each in found], marker=".", label=norm)
        axis.axhline(1.0, color="k", linewidth=0.8)
        axis.set(xscale="log", xlabel=label)
    axes[0].set_ylabel("squared error, smoothed over not")
    axes[0].legend()
    return figure


def inverse(epsilons, found):
    """Draw squared errors of shares and of quantiles (figure 4)."""
    figure, axis = plt.subplots(figsize=(4.5, 3))
    for colour, name in enumerate(found[0]):
        for place, (kind, line) in enumerate({"share": "-", "quantile": "--"}.items()):
            ys = [each[name][place] for each in found]
            axis.plot(epsilons, ys, line, color=f"C{colour}", label=f"{name}: {kind}")
    axis.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="mean squared error")
    axis.legend()
    return figure


def roc(table, curves, title):
    """Draw private curves and the exact one (figures 1, 8 and 9)."""
    figure, axis = plt.subplots(figsize=(3.6, 3.6))
    for label, (fpr, tpr) in curves.items():
        axis.plot(fpr, tpr, ROC_STYLES[label], linewidth=0.9, label=label)
    few = np.unique(np.linspace(0, len(table.fpr) - 1, _MOST_VERTICES).astype(int))
    axis.plot(table.fpr[few], table.tpr[few], "k-", linewidth=0.9, label="exact")
    axis.set(xlabel="false positive rate", ylabel="true positive rate", title=title)
    axis.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axis.legend(loc="lower right")
    return figure


def roc_errors(epsilons, sweeps):
    """Draw the area between curves and the error of the AUC on each table (figure 5)."""
    figure, axes = plt.subplots(2, len(sweeps), figsize=(8, 4.5), sharex=True, sharey=True)
    kinds = ("area between the curves", "error of the AUC")
    for column, (name, methods) in zip(axes.T, sweeps.items(), strict=True):
        for place, (axis, kind) in enumerate(zip(column, kinds, strict=True)):
            for method, found in methods.items():
                axis.plot(epsilons, found[:, place], marker=".", label=method)
            axis.set(xscale="log", yscale="log", ylabel=kind)
            axis.label_outer()
        column[0].set_title(name)
        column[1].set_xlabel("epsilon")
    axes[0, 0].legend()
    return figure


def statistic(epsilons, methods, title):
    """Draw relative squared errors of the Hosmer-Lemeshow statistic (figures 6 and 10)."""
    figure, axis = plt.subplots(figsize=(4.5, 3))
    for label, errors in methods.items():
        axis.plot(epsilons, errors, marker=".", label=label)
    axis.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="relative squared error")
    axis.set_title(title)
    axis.legend()
    return figure


def times(found):
    """Draw seconds against the number of counts (figure 7)."""
    figure, axis = plt.subplots(figsize=(4.5, 3))
    for label, own in found.items():
        axis.plot(list(own), list(own.values()), marker=".", label=label)
    axis.set(xscale="log", yscale="log", xlabel="N", ylabel="seconds")
    axis.legend()
    return figure


def draw(folder, name, make, *arguments):
    """Make one figure and save it as ``distribution_NAME.svg``."""
    with mpl.rc_context(STYLE):
        figure = make(*arguments)
        for axis in figure.axes:
            axis.minorticks_off()
        figure.tight_layout()
        figure.savefig(folder / f"distribution_{name}.svg", metadata={"Date": None})
        plt.close(figure)
