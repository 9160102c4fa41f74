"""What spreading runs over processes costs, and what two workers bring.

Runs of DFHQ in LunarLander through the store, as `fhtd reproduce lunar-lander` does them: with two
workers, and one after the other in a process of their own. The overhead is what passes beside the
runs themselves (starting processes, importing, writing), as a share of runs of 500,000 frames.
"""

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from fhtd.experiments import find
from fhtd.reproduction.executors import Task, execute
from fhtd.reproduction.store import Key, Store

FRAMES, RUNS, PAPER_FRAMES = 20_000, 4, 500_000


def measure(workers: int) -> tuple[float, float]:
    """Seconds that passed, and seconds that the runs took, added up."""
    experiment = find("lunar-lander")
    config = replace(experiment.config(), frames=FRAMES, runs=RUNS, discounts=(0.99,))
    blocks = [block for block in experiment.blocks(config) if block.arm.algorithm == "dfhq"]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), print)
        keys = {block: Key.of(experiment, config, 0, block) for block in blocks}
        tasks = [
            Task.of(experiment, config, 0, block, store.scratch(key)) for block, key in keys.items()
        ]
        begun, took = time.perf_counter(), 0.0
        for task, arrays, seconds in execute(tasks, workers):
            store.write(keys[task.block], arrays, seconds)
            took += seconds
        return time.perf_counter() - begun, took


def main() -> None:
    """Print both figures."""
    alone, alone_took = measure(1)
    beside, beside_took = measure(2)
    # Two workers: the runs' own seconds are spread over both.
    overhead = (beside - beside_took / 2) / (beside_took / 2 * PAPER_FRAMES / FRAMES)
    speed = alone / beside
    print(f"one worker: {alone:.1f} s for {RUNS} runs of {FRAMES:,} frames")
    print(f"two workers: {beside:.1f} s, {speed:.2f} times the throughput (wanted 1.8)")
    print(f"overhead at {PAPER_FRAMES:,} frames: {overhead:.2%} (wanted below 2%)")
    print(f"a run beside another takes {beside_took / alone_took:.2f} times as long as alone")
    path = Path(__file__).parent / "results" / "executor.json"
    found = {"throughput": speed, "overhead": overhead, "slowdown": beside_took / alone_took}
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
