"""What is written of a reproduction, and where: picture, tables, claims, a summary of all."""

import csv
import hashlib
import io
import json
import math
import re
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from fhtd.files import write_atomically
from fhtd.provenance import command
from fhtd.reproduction import style
from fhtd.reproduction.arms import Arrays, exactly
from fhtd.reproduction.chart import Chart
from fhtd.reproduction.claims import Claim, Verdict
from fhtd.reproduction.experiment import Experiment

SUMMARY = "summary.json"
#: Of settings in a folder's name; longer ones are named by their digest as well.
_LONGEST = 60


@dataclass(frozen=True)
class Summary:
    """What `summary.json` in an experiment's folder says of its last reproduction."""

    experiment: str
    title: str
    source: str
    shows: str
    revision: int
    seed: int
    settings: dict[str, Any]
    claims: list[Claim]
    #: Seconds that the blocks took, added up.
    seconds: float
    #: Of everything that shaped the blocks; several where they differ.
    versions: dict[str, str]
    command: str
    #: The settings that are the experiment's own; None in files of earlier versions.
    defaults: dict[str, Any] | None = None
    #: How its tables are drawn.
    charts: tuple[Chart, ...] = ()

    @property
    def time(self) -> str:
        """What the blocks took, in words."""
        if self.seconds < 100:
            return f"{self.seconds:.1f} s"
        if self.seconds < 6000:
            return f"{self.seconds / 60:.0f} minutes"
        return f"{self.seconds / 3600:.1f} hours"

    @property
    def departures(self) -> str:
        """In words, where the settings are not the experiment's own; nothing where they are."""
        own = {} if self.defaults is None else self.defaults
        return ", ".join(
            f"{name} {plain(value)} instead of {plain(own[name])}"
            for name, value in self.settings.items()
            if name in own and value != own[name]
        )

    def completed(self, experiment: Experiment) -> "Summary":
        """With what the experiment says of itself now; earlier versions wrote less."""
        own = json.loads(json.dumps(experiment.settings(experiment.config())))
        return replace(self, defaults=own, charts=experiment.charts)

    @classmethod
    def read(cls, folder: Path) -> "Summary | None":
        """From an experiment's folder, or None; a damaged file is refused by name."""
        path = folder / SUMMARY
        try:
            return _summary(json.loads(path.read_bytes()), folder)
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            name, _, settings = folder.name.partition("@")
            again = f"fhtd reproduce {name}{' with those settings' if settings else ''}"
            raise ValueError(f"{path} is damaged ({why}); {again} writes it again") from None


def folder_of(out: Path, experiment: Experiment, config: Any) -> Path:
    """Where results go: settings that are not the experiment's own have a folder of their own."""
    own, given = (experiment.settings(one) for one in (experiment.config(), config))
    changed = [f"{name}-{_short(value)}" for name, value in given.items() if value != own[name]]
    if not changed:
        return out / experiment.name
    text = "smoke" if config == experiment.smoke() else "_".join(changed)
    if len(text) > _LONGEST or not re.fullmatch(r"[A-Za-z0-9_.+-]+", text):
        first = [one for one in changed[:2] if re.fullmatch(r"[A-Za-z0-9_.+-]{1,20}", one)]
        text = "_".join([*first, hashlib.sha256(text.encode()).hexdigest()[:8]])
    return out / f"{experiment.name}@{text}"


def folders(out: Path, experiment: str) -> list[Path]:
    """Those of an experiment's results: at its own settings first, then at others."""
    others = (path for path in out.glob(f"{experiment}@*") if (path / SUMMARY).exists())
    return [out / experiment, *sorted(others)]


def write_results(
    folder: Path,
    experiment: Experiment,
    config: Any,
    seed: int,
    data: Arrays,
    claims: list[Claim],
    seconds: float,
    versions: dict[str, str],
) -> None:
    """Picture as PNG and SVG, tables as CSV, claims and settings as JSON."""
    figure = experiment.plot(config, data)
    write_atomically(folder / f"{experiment.name}.png", style.render(figure, "png"))
    write_atomically(folder / f"{experiment.name}.svg", style.render(figure, "svg"))
    for name, table in experiment.tables(config, data).items():
        write_atomically(folder / f"{name}.csv", to_csv(table))
    columns = {
        "claim": [claim.name for claim in claims],
        "verdict": [claim.verdict.value for claim in claims],
        "measured": [claim.measured for claim in claims],
        "statement": [claim.statement for claim in claims],
        "rule": [claim.rule for claim in claims],
    }
    write_atomically(folder / "claims.csv", to_csv(columns))
    summary = Summary(
        experiment=experiment.name,
        title=experiment.title,
        source=experiment.source,
        shows=experiment.shows,
        revision=experiment.revision,
        seed=seed,
        settings=experiment.settings(config),
        claims=claims,
        seconds=round(seconds, 2),
        versions=versions,
        command=command(),
        defaults=experiment.settings(experiment.config()),
        charts=experiment.charts,
    )
    write_atomically(folder / SUMMARY, (json.dumps(asdict(summary), indent=2) + "\n").encode())


def to_csv(table: Any) -> bytes:
    """Columns by name as comma-separated values; floats round-trip."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    columns = [list(getattr(column, "tolist", lambda c=column: c)()) for column in table.values()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def plain(value: Any) -> str:
    """A setting in words."""
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "none"
    return str(value)


def _short(value: Any) -> str:
    """A setting as part of a folder's name."""
    if isinstance(value, tuple):
        return "+".join(map(_short, value))
    return exactly(value) if isinstance(value, float) else str(value)


#: What each part of a summary must be.
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("experiment", "title", "source", "shows", "command"), str),
    **dict.fromkeys(("revision", "seed"), int),
    **dict.fromkeys(("settings", "versions"), dict),
    "claims": list,
    "seconds": (int, float),
    "defaults": (dict, type(None)),
    "charts": list,
}


def _summary(found: Any, folder: Path) -> Summary:
    """From what a file holds, every part of which must be of its kind."""
    found = {"defaults": None, "charts": [], **_of("it", found, dict)}
    if found.keys() != _KINDS.keys():
        odd = ", ".join(sorted(map(repr, found.keys() ^ _KINDS.keys())))
        raise ValueError(f"it lacks or adds {odd}")
    for name, kind in _KINDS.items():
        _of(name, found[name], kind)
    if found["experiment"] != folder.name.partition("@")[0]:
        raise ValueError(f"it is of {found['experiment']!r}")
    if not (math.isfinite(found["seconds"]) and found["seconds"] >= 0):
        raise ValueError("seconds must be a number of at least 0")
    for name, version in found["versions"].items():
        _of(f"version of {name}", version, str)
    for settings in (found["settings"], found["defaults"] or {}):
        for name, value in settings.items():
            for one in value if isinstance(value, list) else [value]:
                _of(name, one, (str, int, float, bool, type(None)))
    return Summary(
        **{
            **found,
            "claims": [_claim(one) for one in found["claims"]],
            "seconds": float(found["seconds"]),
            "charts": tuple(_chart(one) for one in found["charts"]),
        }
    )


def _claim(found: Any) -> Claim:
    parts = {name: _of(name, value, str) for name, value in _of("claim", found, dict).items()}
    return Claim(**{**parts, "verdict": Verdict(parts["verdict"])})


def _chart(found: Any) -> Chart:
    """Of plain data."""
    parts = dict(_of("chart", found, dict))
    where = [_of("where", pair, list) for pair in _of("where", parts.pop("where"), list)]
    if not all(len(pair) == 2 and all(isinstance(one, str) for one in pair) for pair in where):
        raise ValueError("where must be pairs of text")
    labels, styles = (
        _pairs(name, parts.pop(name, []), kind) for name, kind in (("labels", str), ("styles", int))
    )
    for one in fields(Chart):
        if one.name in parts:
            kind = one.type if isinstance(one.type, type) else (str, type(None))
            _of(one.name, parts[one.name], kind)
    places = tuple((one, other) for one, other in where)
    return Chart(**parts, labels=labels, styles=styles, where=places)


def _pairs(name: str, found: Any, kind: type) -> tuple[tuple[str, Any], ...]:
    """A name, and something of that kind, each."""
    listed = [_of(name, pair, list) for pair in _of(name, found, list)]
    if not all(len(pair) == 2 for pair in listed):
        raise ValueError(f"{name} must be pairs")
    return tuple((_of(name, one, str), _of(name, other, kind)) for one, other in listed)


def _of(name: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    """The value, which must be of that kind; True is no number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{name} is not what it should be")
    return value
