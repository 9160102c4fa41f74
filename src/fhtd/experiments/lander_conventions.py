"""What the paper leaves open in LunarLander: which RMSprop, and which first weights."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fhtd.experiments import landing
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    Scratch,
    style,
)
from fhtd.reproduction import curves as learning
from fhtd.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OPTIMISERS = ("rmsprop-torch", "rmsprop-tensorflow", "rmsprop-centred")


@dataclass(frozen=True)
class Config(landing.Settings):
    """Settings of the comparison of conventions."""

    runs: int = 3
    """Independent runs of each arm."""
    frames: int = 300_000
    """Frames of a run."""
    optimisers: tuple[str, ...] = _OPTIMISERS
    """What is meant by RMSprop: PyTorch's, TensorFlow's, or the centred one of the DQN papers."""
    initialisations: tuple[str, ...] = ("glorot", "torch")
    """First weights: Glorot uniform with zero biases, or PyTorch's default."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (
            ("optimisers", (*_OPTIMISERS, "adam")),
            ("initialisations", ("glorot", "torch")),
        ):
            values = getattr(self, name)
            if not values or not set(values) <= set(known):
                raise ValueError(f"{name} must be among {', '.join(known)}, got {values}")

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks, of one optimiser."""
        return replace(super().smoke(), optimisers=("rmsprop-torch",))


@dataclass(frozen=True)
class Arm:
    """An algorithm under one reading of the paper."""

    algorithm: str
    optimiser: str
    initialisation: str

    def __str__(self) -> str:
        return f"{self.algorithm}_{self.optimiser}_{self.initialisation}"


def arms(config: Config) -> list[Arm]:
    """Both algorithms under every reading."""
    return [
        Arm(algorithm, optimiser, start)
        for optimiser in config.optimisers
        for start in config.initialisations
        for algorithm in ("dfhq", "dqn")
    ]


def blocks(config: Config) -> list[Block]:
    """One run each."""
    return learning.blocks_of(arms(config), config.runs)


def run(config: Config, seed: int, block: Block, scratch: Scratch) -> Arrays:
    """Train one agent."""
    arm: Arm = block.arm
    settings = {
        "discount": config.discount,
        "hidden": config.hidden,
        "optimiser": arm.optimiser,
        "initialisation": arm.initialisation,
    }
    if arm.algorithm == "dfhq":
        settings["horizon"] = config.horizon
    return landing.train(
        arm.algorithm,
        settings,
        frames=config.frames,
        seed=seed,
        run=block.runs.start,
        scratch=scratch,
    )


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run."""
    return landing.curves(arms(config), config.frames, config.runs, results)


def plot(config: Config, data: Arrays) -> "Figure":
    """A panel for each optimiser and kind of first weights."""
    rows, columns = len(config.initialisations), len(config.optimisers)
    figure, axes = style.panels(rows, columns, width=3.4, height=2.7)
    for i, start in enumerate(config.initialisations):
        for j, optimiser in enumerate(config.optimisers):
            for index, algorithm in enumerate(("dfhq", "dqn")):
                curves = data[f"{Arm(algorithm, optimiser, start)}.curves"]
                found = Statistics.of(curves)
                text = algorithm.upper()
                error = found.standard_error if config.runs > 1 else None
                style.line(axes[i, j], data["frame"], found.mean, error, text, index)
            style.label(axes[i, j], titled(optimiser, start), "frame", "mean return of 10 episodes")
            axes[i, j].sharey(axes[0, 0])
    style.say(figure, style.band(config.runs))
    return figure


def titled(optimiser: str, start: str) -> str:
    """The two conventions of a panel, in words."""
    optimisers = {
        "rmsprop-torch": "RMSprop of PyTorch",
        "rmsprop-tensorflow": "RMSprop of TensorFlow",
        "rmsprop-centred": "centred RMSprop",
    }
    starts = {"glorot": "Glorot's first weights", "torch": "PyTorch's first weights"}
    return f"{optimisers.get(optimiser, optimiser)},\n{starts.get(start, start)}"


def claims(config: Config, data: Arrays) -> list[Claim]:
    """The paper's comparison under every reading of it."""
    return [
        landing.more_area(
            f"{optimiser}-{start}",
            f"DFHQ's area under the curve is well above DQN's ({optimiser}, first weights "
            f"{start}).",
            data,
            (Arm("dfhq", optimiser, start), "DFHQ"),
            (Arm("dqn", optimiser, start), "DQN"),
        )
        for optimiser in config.optimisers
        for start in config.initialisations
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Curves, and every run of every arm."""
    return landing.tables(arms(config), data, range(config.runs))


EXPERIMENT = Experiment(
    name="lander-conventions",
    title="RMSprop conventions and first weights in LunarLander",
    source="not in the paper, which leaves them open",
    shows="how much rests on which RMSprop and which first weights are meant",
    cost="1 hour",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        *(
            Chart(
                titled(optimiser, start).replace("\n", " "),
                "curves",
                "frame",
                "frame",
                "mean return",
                y="mean_return",
                arm="arm",
                where=(("arm", f"*_{optimiser}_{start}"),),
                labels=(("dfhq_*", "DFHQ"), ("dqn_*", "DQN")),
            )
            for start in Config().initialisations
            for optimiser in Config().optimisers
        ),
    ),
    extent=("runs", "optimisers", "initialisations"),
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    megabytes=500,
)
