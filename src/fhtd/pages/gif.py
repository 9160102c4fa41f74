"""An episode as an animation: what the environment looks like beside what the agent expects."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fhtd.deep.agent import Agent


def record_episode(
    agent: Agent[Any],
    environment: Any,
    path: Path,
    *,
    epsilon: float = 0.0,
    seed: int = 0,
    frame_rate: int = 30,
    every: int = 1,
    max_steps: int | None = None,
) -> int:
    """Write an animated GIF of one episode, or of its first steps; returns how many there were.

    On the right: the estimate of the final horizon for the action taken, and the sum that really
    followed (over as many steps, discounted as the agent does), up to the moment shown.
    """
    frames, estimates, starts = [], [], []
    rewards: list[float] = []
    for step in islice(agent.episode(environment, epsilon=epsilon, seed=seed), max_steps):
        frame = environment.render()
        if frame is None or np.ndim(frame) != 3:
            raise ValueError("environment must render rgb_array pictures to be recorded")
        frames.append(frame)
        estimates.append(float(step.values[step.row, -1]))
        starts.append(len(rewards))
        rewards += step.rewards
    outcomes = agent.returns(np.array(rewards))[starts]
    _animate(np.array(frames), np.array(estimates), outcomes, path, frame_rate, every)
    return len(frames)


def _animate(
    frames: np.ndarray,
    estimates: np.ndarray,
    outcomes: np.ndarray,
    path: Path,
    frame_rate: int,
    every: int,
) -> None:
    import matplotlib.animation
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from fhtd.reproduction import style

    figure, axes = style.panels(1, 2, width=4.6, height=3.6)
    FigureCanvasAgg(figure)
    picture, panel = axes[0]
    picture.axis("off")
    image = picture.imshow(frames[0])
    steps = np.arange(len(estimates))
    style.line(panel, steps, estimates, None, "expected", 2)
    style.line(panel, steps, outcomes, None, "what followed", 1)
    moment = panel.axvline(0, color="#000000", linewidth=1)
    style.label(panel, "value of the action taken", "step", "return of the final horizon")
    shown = range(0, len(frames), every)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = matplotlib.animation.PillowWriter(fps=frame_rate)
    with writer.saving(figure, str(path), dpi=80):
        for i in shown:
            image.set_data(frames[i])
            moment.set_xdata([i, i])
            writer.grab_frame()
