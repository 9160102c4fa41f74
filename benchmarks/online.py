"""Speed and memory of the online learners: `make bench`.

Prints tables, and writes `results/online.json` and `results/n-step-cost.png` beside this file.
Times vary with the machine and its load; nothing here fails because something was slow.
"""

import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from preparation import ENVIRONMENT

os.environ.update(ENVIRONMENT)

import footprint
import growth
import native
import numba
import numpy as np
import usage
from cases import BY_ROWS, OURS, PYTHON, Case, cases
from rich.console import Console
from rich.table import Table
from timing import Timing, take_turns

RESULTS = Path(__file__).with_name("results")
console = Console(width=100, highlight=False)


def main() -> None:
    begun = time.perf_counter()
    RESULTS.mkdir(exist_ok=True)
    report: dict[str, Any] = {"machine": machine(), "load_before": os.getloadavg()}
    for name, part in (
        ("algorithms", algorithms),
        ("growth", growth_with_horizon),
        ("n_step", cost_of_n_step),
        ("memory", memory),
        ("usage", streaming_and_threads),
    ):
        report[name] = part()
    report["load_after"] = os.getloadavg()
    report["seconds"] = time.perf_counter() - begun
    path = RESULTS / "online.json"
    path.write_text(json.dumps(report, indent=2) + "\n")
    before, after = report["load_before"][0], report["load_after"][0]
    console.print(
        f"{report['seconds']:.0f} s on {report['machine']['processor']}; "
        f"load {before:.1f} before, {after:.1f} after. Written to {path}"
    )


def machine() -> dict[str, Any]:
    processor = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        names = [line for line in described.read_text().splitlines() if "model name" in line]
        processor = names[0].split(":")[1].strip() if names else processor
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "compiler": native.version(),
    }


def show(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """The first column is a name, the others are numbers."""
    made = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        made.add_column(column, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    console.print(title, style="bold")
    console.print(made)


def algorithms() -> list[dict[str, Any]]:
    reports = []
    for case in cases():
        case.check()
        found = take_turns(case.contenders(), 12)
        ratios = {name: timing.times(found[OURS]) for name, timing in found.items()}
        rows = [
            (
                name,
                f"{timing.minimum:,.1f}",
                f"{timing.median:,.1f}",
                f"{ratios[name]:.2f}",
                verdict(case, name, found),
            )
            for name, timing in found.items()
        ]
        show(case.title, ("", "ns per step", "median", "times fhtd", "wanted"), rows)
        console.print()
        reports.append(
            {
                "title": case.title,
                "nanoseconds": {name: asdict(timing) for name, timing in found.items()},
                "times_fhtd": ratios,
                "wanted": {"at_least": case.at_least, "at_most": case.at_most},
            }
        )
    console.print(
        f"""Least and median of the repetitions, on one thread. Every contender samples its own
transitions, and was first seen to learn the same values from the same draws.
{PYTHON} follows the pseudocode; {BY_ROWS} is arranged for speed, like ours.
C: {native.version()}, {" ".join(native.FLAGS)}
"""
    )
    return reports


def verdict(case: Case, name: str, found: dict[str, Timing]) -> str:
    if name in case.at_least:
        met = found[name].times(found[OURS]) >= case.at_least[name]
        return f"at least {case.at_least[name]:g}: {'PASS' if met else 'short'}"
    if name in case.at_most:
        ratio = found[OURS].times(found[name])
        met = ratio <= case.at_most[name]
        return f"ours at most {case.at_most[name]:g}, is {ratio:.2f}: {'PASS' if met else 'short'}"
    return ""


def growth_with_horizon() -> dict[str, Any]:
    times = growth.over_horizons(8)
    exponent = growth.exponent(times)
    rows = [(f"{h}", f"{taken:.1f}", f"{taken / h:.3f}") for h, taken in times.items()]
    show("One-step FHTD over H, random walk", ("H", "ns per step", "ns per horizon"), rows)
    met = "PASS" if exponent <= 1 else "short"
    console.print(f"Grows as H^{exponent:.2f}; at most proportional to H: {met}\n")
    return {"nanoseconds": times, "exponent": exponent}


def cost_of_n_step() -> dict[str, Any]:
    times = growth.over_backups(8)
    fitted = growth.fit(times)
    rows = [
        (f"{n}", f"{taken:.0f}", f"{fitted(n):.0f}", f"{growth.count(n):.0f}")
        for n, taken in times.items()
    ]
    title = f"n-step FHTD over n, H = {growth.LONGEST}, continuing grid"
    show(title, ("n", "ns per step", "fitted", "n - 1 + H/n"), rows)
    cheapest = min(times, key=lambda n: times[n])
    counted = min(times, key=growth.count)
    step, reward, horizon = fitted.step, fitted.reward, fitted.horizon
    console.print(
        f"""Cheapest at n = {cheapest}; by the count at n = {counted}, the square root of H.
t = {step:.0f} + {reward:.2f} n + {horizon:.2f} H/n ns: a summed reward costs \
{reward / horizon:.1f} times as much as an updated horizon,
which puts the minimum at sqrt(H {horizon:.2f} / {reward:.2f}) = {fitted.cheapest:.0f}.
"""
    )
    growth.plot(times, fitted, RESULTS / "n-step-cost.png")
    return {
        "nanoseconds": times,
        "count": {n: growth.count(n) for n in times},
        "fit": asdict(fitted),
        "cheapest": cheapest,
        "cheapest_by_fit": fitted.cheapest,
    }


def memory() -> list[dict[str, Any]]:
    found = footprint.footprints()
    rows = [
        (
            one.name,
            *(f"{size:,}" for size in (one.weights, one.window, one.rest)),
            f"{one.per_horizon:.1f}",
        )
        for one in found
    ]
    title = f"Bytes held for H = {footprint.HORIZON} and 21 states"
    show(title, ("", "weights", "window", "rest", "numbers in rest, per horizon"), rows)
    console.print()
    return [asdict(one) for one in found]


def streaming_and_threads() -> dict[str, Any]:
    update = usage.streaming(8)
    console.print(
        f"One FHTD.update from Python, H = 100: {update.minimum / 1000:.1f} microseconds "
        f"(median {update.median / 1000:.1f})"
    )
    longer = usage.long_transitions(8)
    console.print(
        f"One FHQ.update(duration=4) from Python, H = 64: {longer.minimum / 1000:.1f} microseconds "
        f"(median {longer.median / 1000:.1f})"
    )
    found = usage.threads(20)
    gain = found[1].times(found[2])
    console.print(
        f"64 runs of the random walk: {found[1].minimum:.1f} ns per step on one thread, "
        f"{found[2].minimum:.1f} on two: {gain:.2f} times as fast\n"
        "(a second thread gains nothing where others keep the cores busy)\n"
    )
    return {
        "update_nanoseconds": asdict(update),
        "long_update_nanoseconds": asdict(longer),
        "threads_nanoseconds": {count: asdict(timing) for count, timing in found.items()},
    }


if __name__ == "__main__":
    main()
