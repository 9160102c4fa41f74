"""Draws `docs/maze.gif`, the picture at the head of the README: python docs/picture.py."""

import io
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from fhtd import Weighting, oracle, problems

FINAL = 48
SQUARE = (0, 6)
ARROWS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
INK, WALL, BLUE = "#1c2733", "#c9ced6", "#0b5cad"


def frame(h: int, values: np.ndarray, best: np.ndarray, comes: np.ndarray) -> Image.Image:
    """The maze at one horizon, and when the start expects its rewards."""
    mdp = problems.slippery_maze().mdp
    grid = np.full(mdp.positions.max(axis=0) + 1, np.nan)
    # Shown in shares of the worst that h steps can bring, so that all horizons use all colours.
    grid[tuple(mdp.positions.T)] = -values[:, h - 1] / h
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8, 4.3), dpi=100, width_ratios=(1, 1), layout="constrained"
    )
    figure.suptitle(
        f"What {h} step{'s' if h > 1 else ''} ahead can tell", color=INK, fontsize=16, weight="bold"
    )
    colours = plt.get_cmap("viridis_r").copy()
    colours.set_bad(WALL)
    left.imshow(grid, cmap=colours, vmin=0, vmax=1)
    for state, (row, column) in enumerate(mdp.positions):
        if (row, column) == (6, 6):
            left.text(column, row, "exit", ha="center", va="center", color=INK, fontsize=11)
            continue
        actions = np.flatnonzero(best[state, :, h - 1])
        light = "white" if grid[row, column] > 0.4 else INK
        if len(actions) == len(mdp.action_names):
            left.plot(column, row, "o", color=light, markersize=3)
            continue
        for action in actions:
            dx, dy = ARROWS[mdp.action_names[action]]
            left.annotate(
                "",
                (column + 0.32 * dx, row + 0.32 * dy),
                (column - 0.32 * dx, row - 0.32 * dy),
                arrowprops={"arrowstyle": "-|>", "color": light, "lw": 1.6},
            )
    left.add_patch(
        plt.Rectangle(
            (SQUARE[1] - 0.5, SQUARE[0] - 0.5), 1, 1, fill=False, edgecolor="#e0245e", lw=3
        )
    )
    left.set(xticks=[], yticks=[], title="best moves; a dot where all are alike")
    right.bar(np.arange(1, FINAL + 1), 1 + np.where(np.arange(FINAL) < h, comes, -1), color=BLUE)
    right.axvline(h + 0.5, color="#e0245e", lw=2)
    right.set(
        xlim=(0, FINAL + 1),
        ylim=(0, 1),
        xlabel="steps ahead",
        title="chance of being out, from the red square",
    )
    right.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer)
    plt.close(figure)
    return Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)


def main() -> None:
    """All horizons, then a rest on the last."""
    mdp = problems.slippery_maze().mdp
    weighting = Weighting.exponential(FINAL)
    found = oracle.optimal(mdp, weighting)
    state = int(np.flatnonzero((mdp.positions == SQUARE).all(axis=1))[0])
    values = found.state_values
    # Of the moves that are best for the final horizon: -1 for each step that is still taken.
    comes = oracle.expected_rewards(mdp, found.policy[..., -1], FINAL)[state]
    frames = [frame(h, values, found.greedy, comes) for h in range(1, FINAL + 1)]
    frames[0].save(
        Path(__file__).parent / "maze.gif",
        save_all=True,
        append_images=frames[1:],
        duration=[160] * (FINAL - 1) + [2500],
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    main()
