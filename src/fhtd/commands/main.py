"""The command line: `fhtd list`, `reproduce`, `show`, `report`, `explore`, `train`, and others.

Heavy libraries are imported by the command that needs them, so that help is quick.
"""

import errno
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

from fhtd import __version__
from fhtd.commands.parsing import UserError, nearest
from fhtd.errors import DivergenceError

#: Groups of commands: each with its module, its function and what it does.
_GROUPS: dict[str, dict[str, tuple[str, str, str]]] = {
    "the paper's results": {
        "list": ("reproduce", "list_experiments", "the experiments, what each shows and costs"),
        "reproduce": (
            *("reproduce", "reproduce"),
            "run experiments and write pictures, tables and verdicts",
        ),
        "show": ("results", "show", "settings of an experiment, and its last verdicts"),
        "report": ("results", "report", "one HTML page of all results"),
    },
    "any finite problem": {
        "explore": (
            *("pages", "explore"),
            "one HTML page: values and best actions of every horizon, learned and exact",
        ),
    },
    "deep agents (pip install 'fhtd[deep]')": {
        "train": (
            *("train", "train"),
            "train an agent on a Gymnasium environment, in one run or several, or resume one",
        ),
        "plot": ("plot", "plot", "learning curves of training runs"),
        "evaluate": ("agents", "evaluate", "mean return of a trained agent"),
        "record": (
            *("agents", "record"),
            "an episode as an animation, beside what the agent expects",
        ),
        "watch": (
            *("pages", "watch"),
            "one HTML page of an episode: what the agent expects at each frame, and what came",
        ),
        "compare": (
            *("compare", "compare"),
            "any agents in any environments: curves, areas, intervals, a verdict for each pair",
        ),
        "presets": (
            *("agents", "presets"),
            "settings to begin with, and the scores that were measured with them",
        ),
    },
    "the shell": {
        "completion": ("completion", "completion", "complete commands and flags with Tab"),
    },
}
#: The module and function of each command.
COMMANDS = {
    name: (module, function)
    for group in _GROUPS.values()
    for name, (module, function, _) in group.items()
}
#: Those whose libraries are an extra.
_DEEP = {"train", "compare", "presets", "evaluate", "plot", "record", "watch"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; mistakes end with one line and exit code 2, interrupts with 130.

    Args:
        arguments: The command and what follows it; by default those of the process.

    Returns:
        The exit code; 1 where the command itself says so.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_description(), end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"fhtd {__version__}")
        return 0
    name, *rest = arguments
    try:
        code = _run(name, rest)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (UserError, ValueError, TypeError, OSError, DivergenceError) as error:
        print(f"fhtd: {_one_line(error)}", file=sys.stderr)
        return getattr(error, "exit_code", 2)
    except MemoryError as error:
        why = f": {_one_line(error)}" if str(error) else ""
        print(f"fhtd: not enough memory for fhtd {' '.join(arguments)}{why}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fhtd: interrupted; what is finished is kept, run again to go on", file=sys.stderr)
        return 130
    return code


def _description() -> str:
    """What there is, in lines that the terminal does not break."""
    width = min(shutil.get_terminal_size().columns, 100)
    parts = ["Fixed-horizon temporal-difference learning.\n"]
    for title, commands in _GROUPS.items():
        parts.append(f"\n{title}:\n")
        for name, (*_, about) in commands.items():
            lines = textwrap.wrap(about, max(width - 14, 20))
            parts.append(f"  {name:<10}  " + f"\n{'':14}".join(lines) + "\n")
    end = "`fhtd COMMAND --help` explains a command; `fhtd reproduce NAME --help` its settings."
    return "".join(parts) + "\n" + textwrap.fill(end, width) + "\n"


def _run(name: str, arguments: list[str]) -> int:
    if name not in COMMANDS:
        raise UserError(
            f"unknown command {name!r}{nearest(name, list(COMMANDS))} "
            f"(commands: {', '.join(COMMANDS)}; try fhtd --help)"
        )
    module, function = COMMANDS[name]
    try:
        command = getattr(importlib.import_module(f"fhtd.commands.{module}"), function)
        return command(arguments) or 0
    except ModuleNotFoundError as error:
        if name not in _DEEP or (error.name or "fhtd").startswith("fhtd"):
            raise
        raise UserError(f"{error.name} is not installed: pip install 'fhtd[deep]'") from None


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        verb = "write" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS) else "use"
        return f"cannot {verb} {error.filename}: {error.strerror}"
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
