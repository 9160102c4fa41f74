"""The command line as a user meets it."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from commands import (
    COMMAND,
    LIMIT,
    blocks_in,
    fhtd,
    finish,
    group_of,
    interrupt,
    processor_seconds,
    start,
    wait_until,
    workers_of,
)
from fhtd import __version__
from fhtd.commands import parsing
from fhtd.commands.main import COMMANDS, main
from fhtd.commands.parsing import parse
from fhtd.experiments import NAMES, find
from fhtd.sentences import sentences

HEAVY = {"numba", "jax", "matplotlib", "gymnasium", "ray", "scipy", "pandas"}
QUICK = ("off-policyness", "--scale", "smoke", "--runs", "3", "--horizon", "8")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """In this process: exit code, output and errors."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()


def words(text: str) -> str:
    """Without boxes and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


# Help.


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    for command in ("list", "reproduce", "show", "report"):
        assert re.search(rf"^  {command}  +\w", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 100
    assert run(capsys, "-h") == (code, out, err)
    assert run(capsys)[:2] == (2, out)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"fhtd {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list"], "what each shows"),
        (["show"], "NAME Name of the experiment"),
        (["report"], "--results DIR Folder of results to read. (default: runs)"),
        (["reproduce"], "Reproduce several experiments, or all of them."),
        (["reproduce", "all"], "--runs INT Number of runs instead of"),
    ],
)
def test_help_of_a_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    code, out, err = run(capsys, *arguments, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: fhtd {arguments[0]}")
    assert says in words(out)
    assert f"\nexamples:\n  fhtd {arguments[0]}" in out


@pytest.mark.parametrize("command", ["explore", "train", "evaluate", "record", "watch"])
def test_help_ends_with_examples(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, err = run(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert f"\nexamples:\n  fhtd {command} " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_readable_in_50_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    code, out, err = run(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert "\nexamples:\n" in out
    text, _, examples = out.partition("\nexamples:\n")
    # Only what cannot be broken may stick out: a list of choices, a path.
    for line in text.splitlines():
        assert len(line) <= 50 or re.search(r"[{|]|=VALUE", line), line
    for line in examples.splitlines():
        assert len(line) <= 50 or len(line.split()) <= 4, line


def test_what_there_is_fits_50_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    for arguments in (["--help"], ["list"]):
        code, out, _ = run(capsys, *arguments)
        assert code == 0
        assert max(map(len, out.splitlines())) <= 50


def test_flags_of_train_are_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("equinox")
    _, out, _ = run(capsys, "train", "--help")
    places = [out.index(f" {name} options") for name in ("place", "run", "value", "network")]
    assert places == sorted(places)
    assert "{None}" not in out
    run_flags = out[places[1] : places[2]]
    assert {"--frames", "--out DIR", "--resume DIR", "--runs"} <= set(
        re.findall(r"--[a-z]+(?: DIR)?", run_flags)
    )
    assert "--hidden" in out[places[3] :]


def test_out_is_where_things_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        _, out, _ = run(capsys, command, "--help")
        for metavar, said in re.findall(
            r" --out (DIR|FILE|PATH) ([A-Z]\w+ to write|\S+)", words(out)
        ):
            assert metavar in ("DIR", "FILE")
            assert said.endswith("to write"), (command, said)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_flag(
    capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    pytest.importorskip("equinox")
    code, out, err = run(capsys, "completion", shell)
    assert (code, err) == (0, "")
    for name in (*COMMANDS, *NAMES, "evaluate-every", "max-steps", "learning-rate"):
        assert name in out
    if shell == "bash" and shutil.which("bash"):
        asked = 'COMP_WORDS=(fhtd reproduce slip); COMP_CWORD=2; _fhtd; echo "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", f"{out}\n{asked}"], capture_output=True, text=True, check=True
        )
        assert done.stdout == "slippery-maze\n"


@pytest.mark.parametrize(
    ("given", "value"), [("2e3", 2000), ("1.5e3", 1500), ("1E+2", 100), ("0100", 100)]
)
def test_whole_numbers_may_have_an_exponent(given: str, value: int) -> None:
    config = find("off-policyness").config
    assert parse(config, "fhtd", ["--runs", given]).runs == value
    maze = find("slippery-maze").config
    assert parse(maze, "fhtd", ["--horizons", "8", given]).horizons == (8, value)
    assert parse(maze, "fhtd", ["--epsilon", "1e-1"]).epsilon == 0.1


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_a_flag_with_a_sentence(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, out, err = run(capsys, "reproduce", name, "--help")
    assert (code, err) == (0, "")
    experiment = find(name)
    assert f"{experiment.title}: {experiment.shows}." in words(out)
    for field in fields(experiment.config):
        flag = field.name.replace("_", "-")
        (sentence,) = re.findall(rf" --{flag} [^-]+? ([A-Z][^│]*?) \(default: ", words(out))
        assert len(sentence) > 10
    for flag in ("--scale {paper,smoke}", "--workers INT", "--seed INT", "--out DIR", "--force"):
        assert flag in words(out)
    code, out, _ = run(capsys, "show", name)
    assert code == 0
    for field in fields(experiment.config):
        assert sentences(experiment.config)[field.name] in words(out), field.name


@pytest.mark.parametrize(
    "statement", ["import fhtd", "from fhtd.commands.main import main; main(['-h'])"]
)
def test_starting_loads_nothing_heavy(statement: str) -> None:
    report = f"{statement}; import sys; print(*{HEAVY} & set(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert done.stderr.split() == []


# Mistakes.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("lst", "unknown command 'lst'; did you mean 'list'? (commands: list, reproduce,"),
        ("trian CartPole-v1", "unknown command 'trian'; did you mean 'train'?"),
        ("zzz", "unknown command 'zzz' (commands: list,"),
        ("list extra", "Unrecognized options: extra"),
        ("reproduce", "name an experiment first, or all"),
        ("reproduce --scale smoke baird", "name an experiment first, or all"),
        ("reproduce bairt", "unknown experiment 'bairt'; did you mean 'baird'?"),
        ("reproduce all bairt", "unknown experiment 'bairt'; did you mean 'baird'?"),
        ("reproduce baird --steps x", "--steps: invalid literal for int() with base 10: 'x'"),
        (
            "reproduce baird --steps 1.5e0",
            "--steps: invalid literal for int() with base",
        ),
        ("reproduce baird --steps", "Missing value for argument '--steps'"),
        ("reproduce baird --stepz 3", "--stepz, 3; did you mean --steps?"),
        ("reproduce baird --steps 0", "steps must be at least 1, got 0"),
        ("reproduce baird --step-size nan", "step_size must be"),
        ("reproduce baird --runs 99999999999999999999", "runs must be"),
        ("reproduce baird --scale big", "Expected one of ('paper', 'smoke')"),
        ("reproduce baird --workers 0", "workers must be at least 1, got 0"),
        ("reproduce baird --seed -1", "seed must be at least 0, got -1"),
        ("reproduce baird random-walk --steps 3", "Unrecognized options: --steps, 3"),
        ("reproduce all --runs 0", "runs must be at least"),
        ("reproduce slippery-maze --horizons 8 x", "--horizons: Could not find valid parse"),
        ("reproduce slippery-maze --horizons 8", "horizons must"),
        ("show", "Name of the experiment"),
        ("show maze", "unknown experiment 'maze'; did you mean 'slippery-maze'?"),
        ("report --results nowhere", "nowhere holds no results yet"),
    ],
)
def test_a_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments.split())
    assert (code, out) == (2, "")
    assert err.startswith("fhtd: ")
    assert err.count("\n") == 1
    assert says in err
    assert not set(err) & set("│╭─")
    assert not blocks_in(tmp_path / "runs"), "it has begun to compute"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("convergence --step-size 1000 --steps 2000", "use a smaller step_size"),
        (
            "baird --steps 10 --horizon 1000000000000",
            "not enough memory for fhtd reproduce baird --steps 10 --horizon 1000000000000",
        ),
    ],
)
def test_settings_that_turn_out_impossible_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, says: str
) -> None:
    code, out, err = run(
        capsys, "reproduce", *arguments.split(), "--scale=smoke", "--workers=1", "--out", tmp_path
    )
    assert (code, out) == (2, "")
    assert err.startswith("fhtd: ")
    assert err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize("environment", [{"COLUMNS": "30"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_a_mistake_is_one_line_on_any_terminal(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*COMMAND, "reproduce", "baird", "--stepz", "3"],
        capture_output=True,
        timeout=LIMIT,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", **environment},
    )
    assert done.returncode == 2
    assert done.stderr == (
        b"fhtd: Unrecognized options: --stepz, 3; did you mean --steps? "
        b"(see fhtd reproduce baird --help)\n"
    )


@pytest.mark.parametrize(
    ("library", "arguments", "extra"),
    [
        ("matplotlib", "reproduce off-policyness --scale smoke", "report"),
        ("jax", "reproduce lunar-lander --scale smoke", "deep"),
        ("Box2D", "reproduce deep-values --scale smoke", "lander"),
        ("ray", "reproduce off-policyness --scale smoke --ray auto", "ray"),
        ("bokeh", "explore random-walk", "report"),
    ],
)
def test_a_missing_extra_is_named_before_any_work(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    library: str,
    arguments: str,
    extra: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    real = parsing.find_spec
    monkeypatch.setattr(parsing, "find_spec", lambda name: real(name) if name != library else None)
    expected = f"fhtd: {library} is not installed: pip install 'fhtd[{extra}]'\n"
    assert run(capsys, *arguments.split()) == (2, "", expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["report --results runs", "explore random-walk --steps 0"])
def test_a_page_that_cannot_be_written_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
) -> None:
    (tmp_path / "file").write_text("precious")
    for place in ("fhtd.pages.read_chapters", "fhtd.pages.explorer.explore"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("it has begun"))
    code, out, err = run(capsys, *command.split(), "--out", tmp_path / "file" / "page.html")
    assert (code, out) == (2, "")
    assert err.startswith(f"fhtd: cannot use {tmp_path / 'file'}")
    assert err.count("\n") == 1


# Commands.


def test_list_says_what_each_shows_and_costs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # into a pipe, nothing is wrapped
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(NAMES)
    for name, line, below in zip(NAMES, lines[::2], lines[1::2], strict=True):
        experiment = find(name)
        assert line.endswith(experiment.shows)
        assert below.strip() == f"{experiment.source}; about {experiment.cost} on two cores"


def test_reproduce_show_and_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "show", "off-policyness", "--results", tmp_path)
    assert (code, err) == (0, "")
    assert "  runs = 1000  (smoke: 20)\n      Random grid worlds (paper: 1,000).\n" in out
    assert f"No results in {tmp_path} yet: fhtd reproduce off-policyness" in out

    code, out, err = run(capsys, "reproduce", *QUICK, "--seed", 4, "--out", tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("off-policyness: 1 blocks in ")
    assert out.endswith(f"report: {tmp_path.resolve()}/report.html\n")
    verdicts = re.findall(r"^  [+x?] (holds|fails|inconclusive) +([a-z-]+): .*\d", out, re.M)
    assert [claim for _, claim in verdicts] == ["early-disagreement", "late-agreement"]

    code, out, err = run(capsys, "reproduce", *QUICK, "--seed", 4, "--out", tmp_path)
    assert out.startswith("off-policyness: 1 kept; see ")

    code, out, err = run(capsys, "show", "off-policyness", "--results", tmp_path)
    assert (code, err) == (0, "")
    assert (
        "Verdicts at other settings (runs 3 instead of 1000, horizon 8 instead of 64) (seed 4, "
    ) in out
    assert re.findall(r"^  [+x?] (holds|fails|inconclusive)", out, re.M) == [v for v, _ in verdicts]

    (tmp_path / "report.html").unlink()
    code, out, err = run(capsys, "report", "--results", tmp_path)
    assert (code, out, err) == (0, f"{tmp_path.resolve()}/report.html\n", "")
    assert 'id="off-policyness@runs-3_horizon-8"' in (tmp_path / "report.html").read_text()


def test_several_share_their_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = ["off-policyness", "baird", "off-policyness"]
    code, out, err = run(
        capsys, "reproduce", *names, "--scale=smoke", "--runs", 2, "--workers=1", "--out", tmp_path
    )
    assert (code, err) == (0, "")
    assert re.findall(r"^[a-z-]+(?=: \d)", out, re.M) == ["off-policyness", "baird"]
    assert {path.stem.rpartition(".")[2] for path in blocks_in(tmp_path)} == {"runs-0-1"}


def test_a_damaged_result_is_named_and_computed_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, before, _ = run(capsys, "reproduce", *QUICK, "--out", tmp_path)
    (path,) = blocks_in(tmp_path)
    path.write_bytes(b"PK")
    code, after, err = run(capsys, "reproduce", *QUICK, "--out", tmp_path)
    assert code == 0
    assert err.startswith(f"fhtd: {path} is damaged")
    assert err.count("\n") == 1
    assert after.splitlines()[1:] == before.splitlines()[1:]


# Terminals, pipes and signals.


def test_output_elsewhere_than_on_a_terminal_is_plain(tmp_path: Path) -> None:
    done = fhtd("reproduce", *QUICK, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout


def test_a_bar_on_the_terminal_leaves_results_in_the_file(tmp_path: Path) -> None:
    """`fhtd reproduce NAME > file`: errors are a terminal, output is not."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    command = [*COMMAND, "reproduce", *QUICK, "--out", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment
    ) as process:
        out, _ = process.communicate(timeout=LIMIT)
    os.close(theirs)
    # What is read may end within a character.
    shown = os.read(ours, 100_000).decode(errors="replace")
    os.close(ours)
    assert process.returncode == 0
    assert out.startswith("off-policyness: 1 blocks in ")
    assert "late-agreement" in out
    assert "\x1b" not in out
    assert "off-policyness" in shown
    assert "/1" in shown
    assert "running" in shown


def test_a_reader_that_leaves_is_no_error() -> None:
    process = start("list")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(LIMIT) == 141


def assert_interrupted(process: subprocess.Popen[str], out: Path) -> None:
    interrupt(process)
    code, printed, errors = finish(process)
    assert (code, printed) == (130, "")
    assert errors == "fhtd: interrupted; what is finished is kept, run again to go on\n"
    wait_until(lambda: not group_of(process))
    assert [path for path in out.rglob(".*") if path.is_file()] == []


def test_ctrl_c_keeps_finished_blocks(tmp_path: Path) -> None:
    command = ("reproduce", "weightings", "--scale=smoke", "--workers=1", "--out")
    process = start(*command, tmp_path)
    wait_until(lambda: blocks_in(tmp_path))
    assert_interrupted(process, tmp_path)
    assert blocks_in(tmp_path)


def test_ctrl_c_ends_workers_at_once(tmp_path: Path) -> None:
    """Each block would take an hour; a worker needs about a second to start."""
    steps = 10**10
    command = ("reproduce", "weightings", "--scale=smoke", "--steps", steps, "--workers=2", "--out")
    process = start(*command, tmp_path)
    wait_until(lambda: len(workers_of(process)) == 2)
    workers = workers_of(process)
    for worker in workers:  # however young, it leaves Ctrl-C to its parent
        os.kill(worker, signal.SIGINT)
    wait_until(lambda: all(processor_seconds(worker) >= 2 for worker in workers))
    assert_interrupted(process, tmp_path)
