"""`fhtd completion`: a script that completes commands, flags and names in a shell."""

import contextlib
import dataclasses
import importlib
import io
import re
from typing import Annotated, Literal

import tyro

from fhtd.commands.parsing import parse


@dataclasses.dataclass(frozen=True)
class Completion:
    """Print a script that lets a shell complete commands, flags and names of experiments."""

    shell: Annotated[
        tyro.conf.Positional[Literal["bash", "zsh", "fish"]], tyro.conf.arg(metavar="SHELL")
    ]
    """bash, zsh or fish."""


EXAMPLES = (
    "fhtd completion bash > ~/.local/share/bash-completion/completions/fhtd",
    "fhtd completion zsh > ~/.fhtd.zsh          # and in ~/.zshrc: source ~/.fhtd.zsh",
    "fhtd completion fish > ~/.config/fish/completions/fhtd.fish",
)


def completion(arguments: list[str]) -> None:
    """Print the script."""
    parsed: Completion = parse(Completion, "fhtd completion", arguments, EXAMPLES)
    from fhtd.commands.main import COMMANDS
    from fhtd.experiments import NAMES

    words = {name: _flags(name) for name in COMMANDS}
    for name in ("reproduce", "show"):
        words[name] = [*NAMES, *words[name]]
    words["completion"] = ["bash", "zsh", "fish"]
    script = _fish(words) if parsed.shell == "fish" else _bash(words)
    if parsed.shell == "zsh":
        script = (
            "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
            + (script)
        )
    print(script, end="")


def _flags(command: str) -> list[str]:
    """Every flag that the help of a command has."""
    from fhtd.commands.main import COMMANDS

    module, function = COMMANDS[command]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit, ModuleNotFoundError):
        getattr(importlib.import_module(f"fhtd.commands.{module}"), function)(["--help"])
    # Their own lines begin with them; sentences may name others.
    own = re.findall(r"^ {1,3}(-\S.*?)(?:  |$)", shown.getvalue(), re.MULTILINE)
    return sorted(set(re.findall(r"--[a-z][a-z-]*", " ".join(own))))


def _bash(words: dict[str, list[str]]) -> str:
    """Files are completed where nothing else is known."""
    cases = "".join(f"    {name}) known='{' '.join(known)}' ;;\n" for name, known in words.items())
    return (
        "_fhtd() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} known=\n"
        f"  if [ $COMP_CWORD -eq 1 ]; then known='{' '.join(words)} --help --version'\n"
        "  else case ${COMP_WORDS[1]} in\n"
        f"{cases}"
        "  esac; fi\n"
        '  COMPREPLY=($(compgen -W "$known" -- "$word"))\n'
        "}\n"
        "complete -o default -F _fhtd fhtd\n"
    )


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f"complete -c fhtd -n __fish_use_subcommand -a '{' '.join(words)}'"]
    for name, known in words.items():
        plain = [word for word in known if not word.startswith("--")]
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        if plain:
            lines.append(f"complete -c fhtd {seen} -a '{' '.join(plain)}'")
        lines += [
            f"complete -c fhtd {seen} -l {word.removeprefix('--')}"
            for word in known
            if word.startswith("--")
        ]
    return "\n".join(lines) + "\n"
