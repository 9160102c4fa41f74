"""Made-up results of `peers`."""

import numpy as np

from claim_cases.changes import Change, both, fewer, put, shift
from fhtd.reproduction import Arrays

#: A poor and a good mean return in each environment.
WORLDS = {
    "LunarLander-v3": (50.0, 220.0),
    "CartPole-v1": (150.0, 400.0),
    "Acrobot-v1": (-200.0, -95.0),
    "MountainCar-v0": (-180.0, -120.0),
}
PEERS = ("dqn", "paper", "sb3:dqn", "sb3-contrib:qrdqn")


def holding() -> Arrays:
    """The default agent near the best in every environment, the others far below."""
    data: Arrays = {}
    little = np.linspace(-1, 1, 10)[:, None] * np.ones(100)
    for world, (poor, good) in WORLDS.items():
        data[f"{world}.frame"] = np.arange(1_000, 101_000, 1_000)
        for arm in ("dfhq", *PEERS):
            data[f"{world}.{arm}.curves"] = (good if arm == "dfhq" else poor) + little
    return data


def in_all(arm: str, share: float, scatter: float = 0.0) -> Change:
    """Move an arm from poor to good by a share, and its runs apart by another, everywhere."""

    def change(data: Arrays) -> None:
        for world, (poor, good) in WORLDS.items():
            curves = data[f"{world}.{arm}.curves"]
            apart = np.linspace(-scatter, scatter, len(curves))[:, None]
            data[f"{world}.{arm}.curves"] = curves + (good - poor) * (share + apart)

    return change


FAILS: dict[str, list[Change]] = {
    **{
        f"above-{peer.replace(':', '-')}": [in_all(peer, 1.5), in_all("dfhq", -1.5)]
        for peer in PEERS
    },
    "nowhere-below-sb3": [shift("Acrobot-v1.sb3:dqn.curves", 200.0)],
    "lands-soon": [put("LunarLander-v3.dfhq.curves", 190.0, (slice(9), slice(50)))],
    "lands-at-the-end": [put("LunarLander-v3.dfhq.curves", 190.0, (slice(None), slice(80, None)))],
}
UNCLEAR: dict[str, list[Change]] = {
    **{f"above-{peer.replace(':', '-')}": [in_all(peer, 1.0, 1.0)] for peer in PEERS},
    "nowhere-below-sb3": [in_all("sb3:dqn", 0.9, 2.0)],
    "lands-soon": [
        put("LunarLander-v3.dfhq.curves", 190.0, (slice(2), slice(50))),
        both(*[fewer(f"LunarLander-v3.{arm}.curves", 5) for arm in ("dfhq", *PEERS)]),
    ],
    "lands-at-the-end": [shift("LunarLander-v3.dfhq.curves", -20.0)],
}
