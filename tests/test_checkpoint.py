"""Checkpoints: old formats stay loadable; damaged and hostile files are refused, harmlessly."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("equinox")

import checkpoint_files as files
from fhtd.deep import DFHQ, DQN, Agent

DATA = Path(__file__).parent / "data"
NEWEST = DATA / "checkpoint-format-3.npz"
OBSERVATION = np.array([0.1, -0.2, 0.05, 0.3], np.float32)
#: What the agents of the files say, by their frames: those of formats 1 and 2 were saved after
#: 154, the newest 10 frames later, in the middle of an episode.
VALUES = {
    154: [
        [-0.02974526, -0.06114040, -0.02001282, -0.05792815],
        [0.13513163, 0.16183305, 0.07963786, -0.05424999],
    ],
    164: [
        [-0.02824108, -0.06120716, -0.01959397, -0.05613298],
        [0.13784838, 0.16450709, 0.08152826, -0.05207926],
    ],
}
EXPECTED = VALUES[164]

# Loads every file that is listed on standard input, in one process whose memory is watched.
CHILD = """
import json, resource, sys, time, warnings
from fhtd.deep import Agent
from fhtd.deep import DFHQ, DQN

warnings.simplefilter("error")
good, *paths = json.load(sys.stdin)
Agent.load(good)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
claimed = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
# A net beneath the test: what is asked for in vain must not take the machine down.
resource.setrlimit(resource.RLIMIT_AS, (claimed + 4 * 2**30,) * 2)
forbidden = []

def watch(event, arguments):
    if event in ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec"):
        forbidden.append(event)

sys.addaudithook(watch)
answers = {}
for path in paths:
    begun = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        answer = f"loaded {Agent.load(path)!r}"
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    answers[path] = answer, time.process_time() - begun, grown
Agent.load(good)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used
json.dump({"answers": answers, "grown": grown, "forbidden": forbidden}, sys.stdout)
"""


class Unreadable(Exception):
    pass


@contextlib.contextmanager
def reading(path):
    """The expected refusal by the name of the file; anything else goes through."""
    try:
        yield
    except ValueError as error:
        if str(error).startswith(f"{path} is not a readable checkpoint: "):
            raise Unreadable from None
        raise


def load_in_a_child(good, paths, folder):
    """What became of each file: (answer, seconds, kilobytes), and of the process as a whole."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps([str(good), *map(str, paths)]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def written(folder, contents):
    """One file to each content; their paths by name."""
    paths = {}
    for i, (name, content) in enumerate(contents.items()):
        paths[name] = folder / f"{i}.npz"
        paths[name].write_bytes(content)
    return paths


def assert_refused(found, paths):
    wrong = {
        name: found["answers"][str(path)][0]
        for name, path in paths.items()
        if not found["answers"][str(path)][0].startswith(
            f"ValueError: {path} is not a readable checkpoint: "
        )
    }
    assert wrong == {}
    slow = {n: s for n, p in paths.items() if (s := found["answers"][str(p)][1]) > 10}
    assert slow == {}
    hungry = {n: k for n, p in paths.items() if (k := found["answers"][str(p)][2]) > 100_000}
    assert hungry == {}
    assert found["grown"] < 200_000
    assert found["forbidden"] == []


@pytest.mark.parametrize(("version", "frames"), [(1, 154), (2, 154), (3, 164)])
def test_every_format_that_was_ever_written_is_read(version, frames):
    path = DATA / f"checkpoint-format-{version}.npz"
    assert files.unpack(path.read_bytes())[0]["format"] == version
    agent = DFHQ.load(path)
    assert (agent.frames, agent.episodes, agent.divergence) == (frames, 7, None)
    assert agent.updates == frames - 19
    assert agent.seed == 5
    assert agent.settings.hidden == (8,)
    assert len(agent.experience) == frames
    np.testing.assert_allclose(agent.values(OBSERVATION), VALUES[frames], atol=1e-7)
    if frames == 154:
        agent.learn(10)
    assert (agent.frames, agent.updates) == (164, 145)
    np.testing.assert_allclose(agent.values(OBSERVATION), VALUES[164], atol=1e-6)


def test_what_is_packed_again_unchanged_is_loaded(tmp_path):
    """The helper is right: it is the changes that are refused below."""
    path = tmp_path / "again.npz"
    path.write_bytes(files.pack(*files.unpack(NEWEST.read_bytes())))
    np.testing.assert_allclose(Agent.load(path).values(OBSERVATION), EXPECTED, atol=1e-7)
    assert path.read_bytes() == NEWEST.read_bytes()


def test_random_damage_is_refused(tmp_path):
    agent = DFHQ.load(NEWEST)
    whole = NEWEST.read_bytes()
    path = tmp_path / "damaged.npz"
    harmless = 0
    for content in files.damaged(whole, 240, seed=0):
        path.write_bytes(content)
        loaded = None
        with contextlib.suppress(Unreadable), reading(path):
            loaded = DFHQ.load(path)
        if loaded is not None:
            # Some bytes carry nothing, such as dates inside the archive.
            harmless += 1
            np.testing.assert_array_equal(loaded.experience.all.rows, agent.experience.all.rows)
            np.testing.assert_array_equal(loaded.values(OBSERVATION), agent.values(OBSERVATION))
    assert harmless <= 20


def test_hostile_files_are_refused_without_harm(tmp_path):
    canary = tmp_path / "canary"
    hostile = files.hostile_bytes(NEWEST.read_bytes(), canary)
    paths = written(tmp_path, hostile)
    paths["a folder"] = tmp_path / "folder.npz"
    paths["a folder"].mkdir()
    paths["a pipe"] = tmp_path / "pipe.npz"
    os.mkfifo(paths["a pipe"])
    assert len(paths) > 150
    assert_refused(load_in_a_child(NEWEST, paths.values(), tmp_path), paths)
    assert not canary.exists()


def test_hostile_manifests_are_refused_without_harm(tmp_path):
    canary = tmp_path / "canary"
    (tmp_path / "hostile_module.py").write_text(f"open({str(canary)!r}, 'w')")
    manifest, arrays = files.unpack(NEWEST.read_bytes())
    hostile = {
        name: files.pack(changed, arrays)
        for name, changed in files.hostile_manifests(manifest).items()
    }
    assert len(hostile) > 250
    paths = written(tmp_path, hostile)
    assert_refused(load_in_a_child(NEWEST, paths.values(), tmp_path), paths)
    assert not canary.exists()


def test_the_watch_over_code_would_notice(tmp_path):
    """A file that does run code leaves the trace that the tests above look for."""
    canary = tmp_path / "canary"
    array = np.array([files.Payload(canary)], object)
    path = tmp_path / "pickled.npy"
    path.write_bytes(files.npy(array, allow_pickle=True))
    np.load(path, allow_pickle=True)[0].close()
    assert canary.exists()


def test_another_agents_file_is_refused():
    with pytest.raises(ValueError, match="holds a DFHQ, not a DQN"):
        DQN.load(NEWEST)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        DFHQ.load(tmp_path / "nothing.npz")


def test_the_file_before_is_kept(tmp_path):
    path = tmp_path / "agent.npz"
    agent = DFHQ.load(NEWEST)
    agent.save(path)
    first = path.read_bytes()
    agent.learn(1)
    agent.save(path)
    assert (tmp_path / "agent.npz.previous").read_bytes() == first != path.read_bytes()


def test_a_given_environment_replaces_the_saved_id(tmp_path):
    import gymnasium

    manifest, arrays = files.unpack(NEWEST.read_bytes())
    path = tmp_path / "agent.npz"
    path.write_bytes(files.pack(manifest | {"environment": None}, arrays))
    with pytest.raises(ValueError, match="give the environment"):
        DFHQ.load(path)
    agent = DFHQ.load(path, gymnasium.make("CartPole-v1"))
    np.testing.assert_allclose(agent.values(OBSERVATION), EXPECTED, atol=1e-7)


def test_networks_that_memory_cannot_hold_are_refused_before_they_are_made():
    agent = DFHQ("CartPole-v1", preset="paper", hidden=(10**7, 10**7))
    with pytest.raises(ValueError, match="GiB are free"):
        agent.values(OBSERVATION)
