"""The simulator against one-at-a-time updates, the oracle, and itself with other threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhtd import (
    ETD,
    FHQ,
    FHTD,
    TD,
    TDC,
    Decay,
    DivergenceError,
    Features,
    FHQLambda,
    FHTDLambda,
    FiniteMDP,
    FixedHorizonMC,
    NStepFHTD,
    NStepTD,
    QLearning,
    TDLambda,
    Weighting,
    oracle,
    policy,
    problems,
    simulate,
)
from fhtd.online.kernels.random import draw, random_bits, uniform
from learners import ALL, BASELINES, PREDICTION, is_control
from strategies import finite_mdps


def corridor(length=5):
    """One action, forward with probability 1; rewards 1, 2, ...; the last step terminates."""
    shape = (length, 2, 1)
    steps = np.arange(length)[:, None, None]
    return FiniteMDP(
        probabilities=np.ones(shape),
        next_states=np.broadcast_to(np.minimum(steps + 1, length - 1), shape).copy(),
        rewards=np.broadcast_to(steps + 1.0, shape).copy(),
        terminal=np.broadcast_to(steps == length - 1, shape).copy(),
        start=np.eye(length)[0],
    )


def always(action, n_states, n_actions=2):
    return policy.deterministic(np.full(n_states, action), n_actions)


SEEN = {"several": np.eye(5)[:, :4] + 0.3, "one each": np.diag(1.5 - 0.2 * np.arange(5))}


@pytest.mark.parametrize("time_limit", [None, 3, 5])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("name", ALL)
def test_simulation_is_a_loop_of_updates(name, seen, time_limit):
    mdp, features = corridor(), Features.from_matrix(SEEN[seen])
    build = {"step_size": Decay(0.2, 30), "initial": 0.1}
    steps = 23
    found = simulate(
        ALL[name](features, **build),
        mdp,
        steps=steps,
        behaviour=always(1, 5),
        time_limit=time_limit,
        keep_weights=True,
    )
    learner, state, length = ALL[name](features, **build), 0, 0
    for _ in range(steps):
        following, reward, terminated = min(state + 1, 4), state + 1.0, state == 4
        length += 1
        truncated = not terminated and length == time_limit
        action = (1,) if is_control(name) else ()
        learner.update(state, *action, reward, following, terminated, truncated)
        state, length = (0, 0) if terminated or truncated else (following, length)
    np.testing.assert_allclose(found.final_weights[0], learner.weights, rtol=1e-12)
    assert found.steps.tolist() == [steps]


IN_ONE_PASS = {
    **{name: ALL[name] for name in ("FHTD", "hybrid FHTD", "NStepTD", "FHQ", "NStepFHQ", "hybrid")},
    "n divides H": lambda f, **o: NStepFHTD(f, Weighting.exponential(6, 0.9), 2, **o),
    "n = 3 divides H": lambda f, **o: NStepFHTD(f, Weighting.average(6), 3, **o),
    "n is H": lambda f, **o: NStepFHTD(f, Weighting.exponential(4), 4, **o),
    "n does not divide H": ALL["NStepFHTD"],
    "average": lambda f, **o: FHTD(f, Weighting.average(6), **o),
}


def ring(length):
    """Round and round, whatever is done; the reward says where, and which of two actions."""
    shape = (length, 2, 1)
    places, actions = np.arange(length)[:, None, None], np.arange(2)[:, None]
    return FiniteMDP(
        probabilities=np.ones(shape),
        next_states=np.broadcast_to((places + 1) % length, shape).copy(),
        rewards=np.broadcast_to(places + 1 + 0.5 * actions, shape).copy(),
        terminal=np.zeros(shape, bool),
        start=np.eye(length)[0],
    )


@pytest.mark.parametrize("time_limit", [None, 7])
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("name", IN_ONE_PASS)
def test_tables_learn_the_same_where_states_come_again(name, length, time_limit):
    """Updates of a single active feature may read the very weights that they write."""
    mdp, places = ring(length), np.arange(length)
    behaviour, target = np.full((length, 2), 0.5), np.tile([0.3, 0.7], (length, 1))
    continuations = 1 - 0.1 * places
    options = {"steps": 40, "behaviour": behaviour, "time_limit": time_limit}
    # With step size 1 the value of the next reward is the last one seen there.
    witness = FHTD(Features.tabular(length), Weighting.exponential(1), step_size=1.0)
    seen = simulate(witness, mdp, record_weights=[1], **options).weights.mean[..., 0]

    features = Features.from_matrix(np.diag(1.5 - 0.2 * places))
    build = {"step_size": 0.1, "initial": 0.1}
    corrected = {} if is_control(name) else {"target": target}
    found = simulate(
        IN_ONE_PASS[name](features, **build),
        mdp,
        continuations=continuations[:, None, None],
        keep_weights=True,
        **corrected,
        **options,
    )
    learner, state, actions = IN_ONE_PASS[name](features, **build), 0, []
    for step in range(40):
        reward, following = seen[step, state], (state + 1) % length
        action = int(reward > state + 1)
        actions.append(action)
        truncated = time_limit is not None and (step + 1) % time_limit == 0
        more = {"truncated": truncated, "continuation": continuations[state]}
        if is_control(name):
            learner.update(state, action, reward, following, **more)
        else:
            ratio = target[state, action] / behaviour[state, action]
            learner.update(state, reward, following, ratio=ratio, **more)
        state = 0 if truncated else following
    assert 5 < sum(actions) < 35
    np.testing.assert_allclose(found.final_weights[0], learner.weights, rtol=1e-12)


@pytest.mark.parametrize("name", ["FHTD", "NStepFHTD", "FHTDLambda", "FHQ"])
def test_bits_do_not_depend_on_threads_or_on_how_runs_are_cut(name):
    walk = problems.random_walk()
    truth = None
    if name in PREDICTION:
        truth = oracle.state_values(walk.mdp, walk.target, Weighting.exponential(6, 0.9))
    settings_ = {
        "steps": 150,
        "behaviour": walk.behaviour,
        "truth": truth,
        "seed": 5,
        "keep_weights": True,
    }
    learner = ALL[name](walk.features, initial_spread=0.5, step_size=0.3)
    one = simulate(learner, walk.mdp, runs=40, threads=1, **settings_)
    two = simulate(learner, walk.mdp, runs=40, threads=2, **settings_)
    many = simulate(learner, walk.mdp, runs=40, threads=7, **settings_)
    for other in (two, many):
        np.testing.assert_array_equal(one.final_weights, other.final_weights)
        if truth is not None:
            np.testing.assert_array_equal(one.errors.mean, other.errors.mean)
            np.testing.assert_array_equal(one.errors.squares, other.errors.squares)
    part = simulate(learner, walk.mdp, runs=range(13, 20), **settings_)
    np.testing.assert_array_equal(part.final_weights, one.final_weights[13:20])
    assert len(np.unique(one.final_weights.reshape(40, -1)[:, 0])) == 40
    other = simulate(learner, walk.mdp, runs=4, **(settings_ | {"seed": 6}))
    assert not np.allclose(other.final_weights, one.final_weights[:4])


@pytest.mark.parametrize("name", [*PREDICTION, "TD"])
def test_errors_are_those_of_the_weights(name):
    """The running error equals one computed afterwards; statistics equal those of the curves."""
    walk = problems.random_walk()
    if name == "TD":
        truth = oracle.infinite_state_values(walk.mdp, walk.target, 1.0)[:, None]
        learner = TD(walk.features, 1.0, step_size=0.5)
    else:
        learner = PREDICTION[name](walk.features, step_size=0.5)
        exact = oracle.state_values(walk.mdp, walk.target, learner.weighting)
        truth = exact[:, learner.horizons.astype(int) - 1]
    found = simulate(
        learner,
        walk.mdp,
        steps=700,
        runs=9,
        behaviour=walk.behaviour,
        truth=truth,
        per_run=True,
        keep_weights=True,
    )
    gaps = (found.final_weights - truth)[:, ~walk.mdp.terminal_states]
    np.testing.assert_allclose(
        found.error_curves[:, -1], np.sqrt((gaps**2).mean(axis=1)), rtol=1e-9
    )
    curves = found.error_curves
    np.testing.assert_allclose(found.errors.mean, curves.mean(axis=0), rtol=1e-9)
    error = curves.std(axis=0, ddof=1) / 3
    np.testing.assert_allclose(found.errors.standard_error, error, rtol=1e-6, atol=1e-12)


def test_recorded_weights_and_episodes():
    mdp = corridor()
    learner = FHTD(Features.tabular(5), Weighting.exponential(3), step_size=1.0)
    found = simulate(
        learner,
        mdp,
        episodes=4,
        runs=2,
        behaviour=always(0, 5),
        record_at=[1, 4],
        record_weights=[1, 3],
    )
    assert found.weights.mean.shape == (2, 5, 2)
    np.testing.assert_array_equal(found.weights.mean[0, :, 0], [1, 2, 3, 4, 5])
    # With step size 1 horizon 3 is exact after three episodes.
    np.testing.assert_array_equal(found.weights.mean[1, :, 1], [6, 9, 12, 9, 5])
    assert found.lengths.tolist() == [[5.0] * 4] * 2
    assert found.returns.tolist() == [[15.0] * 4] * 2


CONVERGING = {
    "FHTD": lambda f, w: FHTD(f, w, step_size=Decay(0.5, 400, 0.8)),
    "NStepFHTD": lambda f, w: NStepFHTD(f, w, 3, step_size=Decay(0.5, 400, 0.8)),
    "FHTDLambda": lambda f, w: FHTDLambda(f, w, 0.8, step_size=Decay(0.3, 400, 0.8)),
    "FixedHorizonMC": lambda f, w: FixedHorizonMC(f, w, step_size=Decay(0.3, 400, 0.8)),
}
WEIGHTINGS = {
    "undiscounted": Weighting.exponential(8),
    "average": Weighting.average(8),
    "hyperbolic": Weighting.hyperbolic(8, 0.7),
    "gaps": Weighting.from_weights([1, 0, 0, 2, 0, -1, 0, 1]),
    "fourier": Weighting.fourier(8, 3),
}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", CONVERGING)
def test_learners_converge_to_the_oracle(name, weighting):
    grid, weighting = problems.checkered_grid(), WEIGHTINGS[weighting]
    exact = oracle.state_values(grid.mdp, grid.target, weighting)
    learner = CONVERGING[name](grid.features, weighting)
    found = simulate(
        learner,
        grid.mdp,
        steps=200_000,
        runs=4,
        behaviour=grid.behaviour,
        truth=exact,
        record_at=[500, 200_000],
    )
    size = np.sqrt((np.abs(exact[~grid.mdp.terminal_states]) ** 2).mean())
    early, late = found.errors.mean[:, -1] / size
    assert late < 0.2
    assert late < early / 4


def test_the_wrong_truth_is_not_reached():
    """Negative control: against the values of another policy the error stays."""
    grid, weighting = problems.checkered_grid(), WEIGHTINGS["undiscounted"]
    other = always(0, grid.mdp.n_states, 4)
    exact = oracle.state_values(grid.mdp, other, weighting)
    learner = CONVERGING["FHTD"](grid.features, weighting)
    found = simulate(
        learner, grid.mdp, steps=200_000, behaviour=grid.behaviour, truth=exact, record_at=[200_000]
    )
    assert found.errors.mean[0, -1] > 0.5


@pytest.mark.parametrize("name", CONVERGING)
def test_importance_ratios_lead_to_the_target_policy(name):
    walk = problems.random_walk(5)
    n = walk.mdp.n_states
    target = np.tile([0.35, 0.65], (n, 1))
    weighting = Weighting.exponential(6, 0.9)
    exact = oracle.state_values(walk.mdp, target, weighting)
    wrong = oracle.state_values(walk.mdp, walk.behaviour, weighting)
    learner = CONVERGING[name](walk.features, weighting)
    learner.step_size = Decay(0.1, 2000, 0.8)
    found = simulate(
        learner,
        walk.mdp,
        steps=300_000,
        runs=4,
        behaviour=walk.behaviour,
        target=target,
        truth=exact,
        record_at=[300_000],
    )
    distance = np.sqrt(((exact - wrong)[~walk.mdp.terminal_states, -1] ** 2).mean())
    assert found.errors.mean[0, -1] < 0.1 * distance


BASELINE_TRUTHS = {
    "TD": lambda f: TD(f, 0.9, step_size=Decay(0.5, 400, 0.8)),
    "NStepTD": lambda f: NStepTD(f, 0.9, 3, step_size=Decay(0.5, 400, 0.8)),
    "TDLambda": lambda f: TDLambda(f, 0.9, 0.8, step_size=Decay(0.2, 400, 0.8)),
    "ETD": lambda f: ETD(f, 0.9, step_size=Decay(0.05, 400, 0.8)),
    "TDC": lambda f: TDC(
        f, 0.9, step_size=Decay(0.3, 400, 0.8), second_step_size=Decay(0.1, 400, 0.6)
    ),
}


@pytest.mark.parametrize("name", BASELINE_TRUTHS)
def test_baselines_converge_to_infinite_horizon_values(name):
    walk = problems.random_walk(7)
    exact = oracle.infinite_state_values(walk.mdp, walk.target, 0.9)
    found = simulate(
        BASELINE_TRUTHS[name](walk.features),
        walk.mdp,
        steps=300_000,
        runs=4,
        behaviour=walk.behaviour,
        truth=exact,
        record_at=[300_000],
    )
    size = np.sqrt((exact[~walk.mdp.terminal_states] ** 2).mean())
    assert found.errors.mean[0, 0] < 0.07 * size


@pytest.mark.parametrize("name", ["FHQ", "FHQLambda", "QLearning"])
def test_control_learners_converge_to_optimal_values(name):
    grid, horizon = problems.checkered_grid(), 6
    mdp, weighting = grid.mdp, Weighting.exponential(horizon, 0.9)
    step_size = Decay(0.5, 2000, 0.8)
    if name == "QLearning":
        exact = oracle.infinite_optimal(mdp, 0.9).action_values
        learner = QLearning(grid.features, 4, 0.9, step_size=step_size)
    else:
        exact = oracle.optimal(mdp, weighting).action_values
        learner = FHQ(grid.features, 4, weighting, step_size=step_size)
        if name == "FHQLambda":
            learner = FHQLambda(grid.features, 4, weighting, 0.5, step_size=Decay(0.3, 2000, 0.8))
    found = simulate(
        learner,
        mdp,
        steps=400_000,
        runs=2,
        behaviour=policy.uniform(mdp.n_states, 4),
        truth=exact,
        record_at=[400_000],
    )
    size = np.sqrt((exact[~mdp.terminal_states] ** 2).mean())
    assert found.errors.mean[0, -1] < 0.05 * size


def test_control_with_a_target_policy_evaluates_it():
    grid, weighting = problems.checkered_grid(), Weighting.exponential(5, 0.9)
    exact = oracle.action_values(grid.mdp, grid.target, weighting)
    found = simulate(
        FHQ(grid.features, 4, weighting, step_size=Decay(0.5, 2000, 0.8)),
        grid.mdp,
        steps=300_000,
        behaviour=grid.behaviour,
        target=grid.target,
        truth=exact,
        record_at=[300_000],
    )
    assert found.errors.mean[0, -1] < 0.05 * np.abs(exact).max()


def test_epsilon_greedy_acting_learns_the_maze():
    maze = problems.slippery_maze()
    learner = FHQ(maze.features, 4, Weighting.exponential(16), step_size=0.4, epsilon=0.1)
    found = simulate(learner, maze.mdp, episodes=300, runs=8)
    assert found.lengths[:, -100:].mean() < 0.6 * found.lengths[:, :10].mean()
    assert found.lengths[:, -100:].mean() < 2.5 * 61.77


def test_termination_and_truncation_differ_as_they_must():
    """A loop with reward 1: cut by a time limit it is worth h; ended by it only what was seen."""
    loop = FiniteMDP(
        np.ones((1, 1, 1)),
        np.zeros((1, 1, 1), int),
        np.ones((1, 1, 1)),
        np.zeros((1, 1, 1), bool),
        np.ones(1),
    )
    for build in (FHTD, lambda f, w, **o: FHTDLambda(f, w, 0.9, **o)):
        learner = build(Features.tabular(1), Weighting.exponential(5), step_size=0.1)
        found = simulate(
            learner,
            loop,
            steps=3000,
            behaviour=np.ones((1, 1)),
            time_limit=2,
            keep_weights=True,
        )
        np.testing.assert_allclose(found.final_weights[0, 0], [1, 2, 3, 4, 5], rtol=1e-6)
    ended = FiniteMDP(
        loop.probabilities, loop.next_states, loop.rewards, ~loop.terminal, loop.start
    )
    learner = FHTD(Features.tabular(1), Weighting.exponential(5), step_size=0.1)
    found = simulate(learner, ended, steps=3000, behaviour=np.ones((1, 1)), keep_weights=True)
    np.testing.assert_allclose(found.final_weights[0, 0], np.ones(5), rtol=1e-6)


def test_td_diverges_on_baird_where_fhtd_tdc_and_etd_do_not():
    baird = problems.baird()
    first = baird.initial_weights[:, None]
    shared = {
        "steps": 3000,
        "runs": 6,
        "behaviour": baird.behaviour,
        "target": baird.target,
        "keep_weights": True,
    }

    def largest(learner):
        final = simulate(learner, baird.mdp, **shared).final_weights[..., -1]
        return np.abs(final @ baird.features.matrix.T).max(axis=1)

    begun = np.abs(baird.features.matrix @ first).max()
    weighting = Weighting.exponential(20, 0.99)
    assert largest(TD(baird.features, 0.99, step_size=0.2 / 7, initial=first)).min() > 100 * begun
    fhtd = FHTD(baird.features, weighting, step_size=0.2 / 7, initial=first)
    assert largest(fhtd).max() < 0.01
    tdc = TDC(baird.features, 0.99, step_size=0.005, second_step_size=0.05, initial=first)
    assert largest(tdc).max() < begun
    # ETD's variance here is notorious: it stays put rather than converges.
    etd = ETD(baird.features, 0.99, step_size=1e-5, initial=first)
    assert largest(etd).max() < 2 * begun


def test_divergence_in_a_simulation_names_run_step_and_horizon():
    baird = problems.baird()
    learner = TD(baird.features, 0.99, step_size=0.3, initial=baird.initial_weights[:, None])
    shared = {"behaviour": baird.behaviour, "target": baird.target}
    with pytest.raises(DivergenceError) as caught:
        simulate(learner, baird.mdp, steps=30_000, runs=range(3, 9), **shared)
    error = caught.value
    assert (error.run, error.horizon) == (3, np.inf)
    # Exactly at that step and not before.
    simulate(learner, baird.mdp, steps=error.step - 1, runs=range(3, 4), **shared)
    with pytest.raises(DivergenceError, match=f"at step {error.step} of run 3"):
        simulate(learner, baird.mdp, steps=error.step, runs=range(3, 4), **shared)
    learner.allow_divergence = True
    found = simulate(
        learner, baird.mdp, steps=30_000, runs=range(3, 4), keep_weights=True, **shared
    )
    assert not np.isfinite(found.final_weights).all()


@settings(max_examples=25)
@given(finite_mdps(), st.integers(0, 2**32))
def test_transitions_and_episodes_follow_the_mdp(mdp, seed):
    """Learned one-step rewards stay within what each state can give; episodes end or not."""
    acting = policy.uniform(mdp.n_states, mdp.n_actions)
    learner = FHTD(Features.tabular(mdp.n_states), Weighting.exponential(1), step_size=0.5)
    found = simulate(
        learner, mdp, steps=300, runs=2, behaviour=acting, seed=seed, keep_weights=True
    )
    possible = np.where(mdp.probabilities > 0, mdp.rewards, np.nan)
    low, high = np.nanmin(possible, axis=(1, 2)), np.nanmax(possible, axis=(1, 2))
    learned = found.final_weights[..., 0]
    assert np.all(learned >= np.minimum(low, 0) - 1e-12)
    assert np.all(learned <= np.maximum(high, 0) + 1e-12)


def test_draws_follow_their_probabilities():
    """xoshiro256++ by its published first outputs; frequencies of draws."""
    state = np.array([1, 2, 3, 4], np.uint64)
    assert [int(random_bits(state)) for _ in range(4)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
    ]
    numbers = np.array([uniform(state) for _ in range(20_000)])
    assert 0 <= numbers.min() < 1e-3 < 0.999 < numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01
    cumulative = np.array([0.2, 0.2, 0.7, 2.0, 2.0])
    counts = np.bincount([draw(cumulative, state) for _ in range(20_000)], minlength=5) / 20_000
    np.testing.assert_allclose(counts, [0.2, 0, 0.5, 0.3, 0], atol=0.015)


WALK = problems.random_walk(5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "give either steps or episodes"),
        ({"steps": 5, "episodes": 5}, "give either steps or episodes"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"steps": 5, "runs": 0}, "runs must be"),
        ({"steps": 5, "threads": 0}, "threads must be"),
        ({"steps": 5, "seed": -1}, "seed must be"),
        ({"steps": 5, "behaviour": None}, "behaviour is needed"),
        ({"steps": 5, "behaviour": np.ones((7, 2))}, "behaviour must sum to 1"),
        ({"steps": 5, "target": np.ones((7, 3)) / 3}, "target must have shape"),
        ({"steps": 5, "time_limit": 0}, "time_limit must be"),
        ({"steps": 5, "truth": np.zeros((7, 3))}, "truth must have shape"),
        ({"steps": 5, "record_at": [0, 1]}, "record_at must ascend"),
        ({"steps": 5, "record_at": [2, 6]}, "record_at must ascend"),
        ({"steps": 5, "record_weights": [9]}, "horizon 9 is not learned"),
        ({"episodes": 5, "step_size": Decay(0.1)}, "step_size as a schedule needs"),
        (
            {"steps": 5, "truth": np.zeros((7, 4)), "state_weights": -np.ones(7)},
            "state_weights must be",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    step_size = change.pop("step_size", 0.1)
    learner = FHTD(WALK.features, Weighting.exponential(4), step_size=step_size)
    arguments = {"behaviour": WALK.behaviour} | change
    with pytest.raises(ValueError, match=message):
        simulate(learner, WALK.mdp, **arguments)


def test_learners_and_worlds_must_fit():
    with pytest.raises(ValueError, match="features of integer states"):
        simulate(FHTD(Features.tabular(3), Weighting.exponential(2)), WALK.mdp, steps=5)
    with pytest.raises(ValueError, match="learner has 3 actions, the MDP 2"):
        simulate(FHQ(WALK.features, 3, Weighting.exponential(2)), WALK.mdp, steps=5)
    with pytest.raises(TypeError, match="mdp must be a FiniteMDP"):
        simulate(FHQ(WALK.features, 2, Weighting.exponential(2)), WALK, steps=5)
    grid = problems.random_grid()
    with pytest.raises(ValueError, match="never end"):
        simulate(FHQ(grid.features, 4, Weighting.exponential(2)), grid.mdp, episodes=5)


def test_progress_counts_every_run():
    seen = []
    learner = BASELINES["TD"](WALK.features)
    simulate(learner, WALK.mdp, steps=5, runs=21, behaviour=WALK.behaviour, progress=seen.append)
    assert seen[-1] == 21
    assert seen == sorted(seen)


@pytest.mark.parametrize("initial", [1e3, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("record_at", [None, [50_000], [30_000, 50_000]])
def test_errors_keep_their_digits_after_a_far_start(initial, record_at):
    weighting = Weighting.exponential(4)
    exact = oracle.state_values(WALK.mdp, WALK.target, weighting)
    found = simulate(
        FHTD(WALK.features, weighting, step_size=0.05, initial=initial),
        WALK.mdp,
        steps=50_000,
        behaviour=WALK.behaviour,
        truth=exact,
        record_at=record_at,
        keep_weights=True,
    )
    gaps = (found.final_weights[0] - exact)[~WALK.mdp.terminal_states]
    np.testing.assert_allclose(found.errors.mean[-1], np.sqrt((gaps**2).mean(axis=0)), rtol=1e-6)
