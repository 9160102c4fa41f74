"""The one loop: any algorithm in any environments, frame after frame.

Each episode begins from a seed of its own, made of the run's seed, the environment's number and how
many episodes it had before. So a loop can be written down at any frame: on restoring, the present
episodes begin again, their actions are played again, and what is then seen must be what was seen.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.archive import Arrays
from fhtd.deep import networks
from fhtd.deep.algorithm import Algorithm, Training, begin, compiled, planned
from fhtd.deep.codecs import Actions, Mask, Observations
from fhtd.deep.experience import Experience, Transition, check_kind
from fhtd.deep.settings import Settings

_MOST_FRAMES = 2**53

#: (generator, present, frame) -> the action to take, and its importance ratio.
Choose = Callable[[np.random.Generator, "Present", int], tuple[Any, float]]
#: (present, action, reward, following, info) -> what to learn from: the reward, or signals.
Measure = Callable[["Present", Any, float, Any, dict[str, Any]], Any]


@dataclass
class Present:
    """Where an episode is."""

    #: As the environment returned it, but a copy.
    raw: Any
    observation: npt.NDArray[Any]
    mask: Mask
    #: What the algorithm would do.
    proposal: Any
    total: float = 0.0
    #: Every action since the episode began.
    actions: list[Any] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Steps so far."""
        return len(self.actions)


@dataclass
class Stream:
    """One environment, and its episode under way."""

    environment: Any
    #: Episodes that it has left behind, cut ones included.
    count: int = 0
    #: None where the next episode has still to begin.
    present: Present | None = None


class Ended(NamedTuple):
    """A finished episode."""

    number: int
    frame: int
    total: float
    length: int


class Loop:
    """Environments, episodes, counters and random numbers; learning when experience says so."""

    def __init__(
        self,
        environments: list[Any],
        observations: Observations,
        actions: Actions,
        algorithm: Algorithm,
        experience: Experience,
        settings: Settings,
        seed: int,
        *,
        choose: Choose | None = None,
        measure: Measure | None = None,
    ) -> None:
        self.streams = [Stream(environment) for environment in environments]
        self.observations, self.actions = observations, actions
        self.experience, self.settings = experience, settings
        self.seed = seed
        self._choose = choose or self._explore
        self._measure = measure
        #: Frames and finished episodes so far, of all environments together.
        self.frames = self.episodes = 0
        self.rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        self.learn_by(algorithm)

    def learn_by(self, algorithm: Algorithm, state: Any = None) -> None:
        """Begin with an algorithm, or go on with another one from a state of its own.

        Episodes, experience and random numbers go on as they are.

        Args:
            algorithm: The pure functions.
            state: To go on from; None to begin when it is first asked for.
        """
        layout = self.experience.layout
        plan = planned(algorithm, layout)
        if state is not None:
            now, wanted = (
                [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]
                for tree in (state, plan.state)
            )
            if now != wanted:
                raise ValueError("state must have the shapes of the algorithm's own")
        self.algorithm, self.plan = algorithm, plan
        words = np.random.SeedSequence(self.seed, spawn_key=(4,)).generate_state(2)
        key = jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32))
        self.compiled = compiled(algorithm, layout, key)
        self._training: Training | None = None
        if state is not None:
            networks.check_room(self.plan)
            self._training = begin(algorithm, self.plan, state)

    @property
    def training(self) -> Training:
        """All that learning changes; made when it is first asked for."""
        if self._training is None:
            networks.check_room(self.plan)
            self._training = begin(self.algorithm, self.plan)
        return self._training

    @training.setter
    def training(self, value: Training) -> None:
        self._training = value

    def round(self) -> tuple[list[Ended], float]:
        """Act in every environment once, store, and learn; what ended, and the largest loss."""
        self._begin_missing()
        before, ended = self.frames, []
        for i, stream in enumerate(self.streams):
            try:
                finished = self._step(i, stream)
            except BaseException:
                # The environment may have moved on, or not: this episode cannot be continued.
                self.abandon(i)
                raise
            if finished is not None:
                ended.append(finished)
        return ended, self._learn(before)

    def _step(self, i: int, stream: Stream) -> Ended | None:
        now = stream.present
        assert now is not None
        frame = self.frames + 1
        chosen, ratio = self._choose(self.rng, now, self.frames)
        action: Any = self.actions.check(f"action at frame {frame}", chosen)
        raw, reward, terminated, truncated, info = self._moved(stream, action)
        received = self.observations.receive(raw)
        following = self.observations.encode(received, f"observation at frame {frame}")
        reward = checks.real(f"reward at frame {frame}", reward)
        # Nothing is done after a termination: what may be done there is not asked.
        mask = self.actions.all_permitted if terminated else self.actions.mask_of(info)
        measured = reward
        if self._measure is not None:
            measured = self._measure(now, action, reward, received, info)
        self.frames = frame
        now.total += reward
        now.actions.append(action)
        limit = self.settings.max_episode_frames
        truncated = bool(truncated) or (limit is not None and now.length >= limit)
        self.experience.add(
            i,
            Transition(
                now.observation,
                action,
                measured,
                following,
                bool(terminated),
                truncated,
                mask,
                ratio,
            ),
        )
        if not (terminated or truncated):
            now.raw, now.observation, now.mask = received, following, mask
            return None
        self.episodes += 1
        stream.count += 1
        ended = Ended(self.episodes, self.frames, now.total, now.length)
        stream.present = None
        stream.present = self._begun(i)
        return ended

    def _moved(self, stream: Stream, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        found = stream.environment.step(self.actions.to_environment(action))
        if not isinstance(found, tuple) or len(found) != 5:
            raise ValueError(
                "environment.step must return observation, reward, terminated, truncated and info, "
                f"got {found!r}"
            )
        return found

    def _explore(self, rng: np.random.Generator, now: Present, frame: int) -> tuple[Any, float]:
        return self.algorithm.explore(rng, now.proposal, now.mask, frame), 1.0

    def _begun(self, i: int) -> Present:
        """Environment i's next episode, from a seed of its own: it can be begun again."""
        stream = self.streams[i]
        key = (2, i, stream.count)
        seed = int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0] >> 1)
        raw, info = stream.environment.reset(seed=seed)
        received = self.observations.receive(raw)
        encoded = self.observations.encode(received, f"observation at frame {self.frames}")
        return Present(received, encoded, self.actions.mask_of(info), self.actions.none)

    def _begin_missing(self) -> None:
        missing = [i for i, stream in enumerate(self.streams) if stream.present is None]
        for i in missing:
            self.streams[i].present = self._begun(i)
        if missing:
            self._propose()

    def abandon(self, i: int) -> None:
        """Give up environment i's episode; the next one begins when it is needed."""
        stream = self.streams[i]
        if stream.present is not None:
            self.experience.forget(i)
            stream.count += 1
            stream.present = None

    def _seen(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], np.uint32]:
        """Observations and masks of all environments, and the frame."""
        now = [stream.present for stream in self.streams]
        observations = np.array([one.observation for one in now if one is not None])
        masks = np.array([one.mask for one in now if one is not None])
        return observations, masks, np.uint32(self.frames % 2**32)

    def _propose(self) -> None:
        """What the algorithm would do next in every environment."""
        if self.compiled.act is not None:
            found = self.compiled.act(self.training.state.parameters, *self._seen())
            self._set_proposals(np.asarray(found))

    def _set_proposals(self, chosen: npt.NDArray[Any]) -> None:
        proposals = self.actions.from_network(chosen)
        for stream, proposal in zip(self.streams, proposals, strict=True):
            assert stream.present is not None
            stream.present.proposal = proposal

    def _learn(self, before: int) -> float:
        """Update as often as is due, and choose what to do next; the largest loss."""
        samples = self.experience.batches(before, self.frames, self.rng)
        if not samples:
            self._propose()
            return 0.0
        self.training, result = self.compiled.frame(self.training, samples, *self._seen())
        found = np.asarray(result)
        if self.compiled.act is not None:
            self._set_proposals(found[:-1])
        return float(found[-1])

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """Counters, random numbers, and the actions of the episodes under way."""
        arrays: Arrays = {}
        streams: list[dict[str, Any]] = []
        for i, stream in enumerate(self.streams):
            now = stream.present
            length = None if now is None else now.length
            streams.append({"count": stream.count, "length": length})
            if now is not None:
                arrays[f"actions_{i}"] = self.actions.to_array(now.actions)
                arrays[f"proposal_{i}"] = self.actions.to_array([now.proposal])
                arrays[f"observation_{i}"] = now.observation
        content = {
            "frames": self.frames,
            "episodes": self.episodes,
            "generator": self.rng.bit_generator.state,
            "streams": streams,
        }
        return content, arrays

    def restore(self, plain: dict[str, Any], arrays: Arrays) -> None:
        """Go on where `snapshot` was taken; takes what it needs out of `arrays`."""
        self.frames = checks.integer("frames", plain["frames"], 0, _MOST_FRAMES)
        self.episodes = checks.integer("episodes", plain["episodes"], 0, self.frames)
        self.rng.bit_generator.state = plain["generator"]
        if self.rng.bit_generator.state != plain["generator"]:
            raise ValueError("its generator has another state than it can have")
        saved = plain["streams"]
        if len(saved) != len(self.streams):
            raise ValueError(f"it has {len(saved)} environments, not {len(self.streams)}")
        for i, one in enumerate(saved):
            self.streams[i].count = checks.integer("count", one["count"], 0)
            if one["length"] is not None:
                self._resume(i, checks.integer("length", one["length"], 0, self.frames), arrays)

    def _resume(self, i: int, length: int, arrays: Arrays) -> None:
        """Begin the episode again and play its actions; where it comes out otherwise, say so."""
        done = self.actions.from_array("actions", arrays.pop(f"actions_{i}"))
        if len(done) != length:
            raise ValueError(f"it has {len(done)} actions of an episode of {length} steps")
        (proposal,) = self.actions.from_array("proposal", arrays.pop(f"proposal_{i}"))
        codec = self.observations
        # Earlier formats, which cut the episodes, did not keep it.
        expected = arrays.pop(f"observation_{i}", None)
        if expected is None and done:
            raise ValueError(f"observation {i} is missing")
        if expected is not None:
            check_kind("observation", expected, codec.shape, codec.dtype)
        stream = self.streams[i]
        now = stream.present = self._begun(i)
        for action in done:
            raw, reward, terminated, truncated, info = self._moved(stream, action)
            now.actions.append(action)
            now.total += checks.real("reward", reward)
            now.raw = codec.receive(raw)
            now.observation = codec.encode(now.raw)
            if terminated or truncated:
                break
            now.mask = self.actions.mask_of(info)
        now.proposal = proposal
        if len(now.actions) != len(done) or (
            expected is not None and now.observation.tobytes() != expected.tobytes()
        ):
            warnings.warn(
                "the environment did not come to the same observation from the same seed and "
                "actions: a new episode begins, and the run is not exactly the one it would have "
                "been",
                stacklevel=2,
            )
            self.abandon(i)
