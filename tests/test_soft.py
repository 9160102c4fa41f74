"""Soft actor-critics against a plain twin in NumPy, and against dynamic programming."""

import itertools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytest.importorskip("equinox")

from fhtd import Weighting  # noqa: E402
from fhtd.deep import FHSAC, SAC, gaussian  # noqa: E402
from fhtd.deep.layout import Sample  # noqa: E402
from fhtd.deep.soft import soft_actor_critic  # noqa: E402
from scripted import Continuous  # noqa: E402

DISCOUNT, STEP_SIZE, ALPHA, BATCH, SIZE = 0.9, 0.05, 0.3, 5, 2
RNG = np.random.default_rng(7)


# A plain twin, sharing no code with the package: networks as nested lists of (weight, bias),
# gradients by central differences.


def network(layers, norms, x):
    for i, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if i < len(layers) - 1:
            if norms:
                scale, shift = norms[i]
                mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
                x = (x - mean) / np.sqrt(variance + 1e-5) * scale + shift
            x = np.maximum(x, 0)
    return x


def layered(arrays, depth):
    """The arrays of a network, as the package orders them: layers, norms, heads."""
    hidden = [(arrays[2 * i], arrays[2 * i + 1]) for i in range(depth)]
    rest = arrays[2 * depth : -2]
    norms = [(rest[2 * i], rest[2 * i + 1]) for i in range(len(rest) // 2)]
    return [*hidden, (arrays[-2], arrays[-1])], norms


def critic(arrays, seen, done):
    return network(*layered(arrays, 1), np.concatenate([seen, done], axis=1))


def policy(arrays, seen, noise):
    outputs = network(*layered(arrays, 1), seen).reshape(len(seen), SIZE, 2)
    mean, deviation = outputs[..., 0], np.exp(np.clip(outputs[..., 1], -20, 2))
    u = mean + deviation * noise
    density = np.exp(-(noise**2) / 2) / (deviation * np.sqrt(2 * np.pi)) / (1 - np.tanh(u) ** 2)
    return np.tanh(u), np.log(density).sum(axis=1)


def base_of(agent, which):
    base = agent.state.base[which]
    return np.array(base.weight), np.array(base.bias)


def twin_targets(agent, critics, actor, batch, noise, c=1.0):
    """Row by row and output by output, straight from the equations."""
    done, log_density = policy(actor, batch["following"], noise)
    values = [critic(arrays, batch["following"], done) for arrays in critics]
    n = batch["rewards"].shape[1]
    found = np.zeros((BATCH, values[0].shape[1]))
    for i, j in itertools.product(range(BATCH), range(found.shape[1])):
        total = sum(DISCOUNT**k * batch["rewards"][i, k] for k in range(n))
        from_itself = agent.backup.sources[-1, j] == j + 1
        ahead = None
        if from_itself or j > 0:
            source = j if from_itself else j - 1
            ahead = min(value[i, source] for value in values)
        elif isinstance(agent, FHSAC) and agent.moves > 0:
            both = np.concatenate([batch["following"][i], done[i]])[None]
            ahead = min(
                network([*layered(arrays, 1)[0][:1], base_of(agent, which)], [], both).item()
                for which, arrays in enumerate(critics)
            )
        if ahead is not None and not batch["terminated"][i]:
            total += DISCOUNT**n * (ahead - ALPHA * c * log_density[i])
        found[i, j] = total
    return found


def slopes(loss, arrays):
    """Gradient of a loss by central differences, one number after another."""
    found = []
    for array in arrays:
        slope = np.zeros(array.shape)
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + 1e-6
            above = loss()
            array[at] = kept - 1e-6
            slope[at] = (above - loss()) / 2e-6
            array[at] = kept
        found.append(slope)
    return found


def as_numpy(arrays):
    return [np.array(array, np.float64) for array in arrays]


CASES = {
    "H = 3": (FHSAC, {"horizon": 3, "deepen_every": None, "layer_norm": False}),
    "layer norm, mean of two": (FHSAC, {"horizon": 3, "deepen_every": None, "acting": 2}),
    "two steps": (
        FHSAC,
        {"horizon": 4, "n_step": 2, "deepen_every": None, "layer_norm": False},
    ),
    "window, moved": (FHSAC, {"horizon": 2, "deepen_every": 10**6, "layer_norm": False}),
    "SAC": (SAC, {"tau": None}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """One compiled update by plain gradient descent, and all that went into it."""
    kind, options = CASES[request.param]
    agent = kind(Continuous(size=SIZE, n_seen=2), hidden=(4,), discount=DISCOUNT, **options)
    if request.param == "window, moved":
        agent.deepen()
    optimiser = optax.sgd(STEP_SIZE)
    algorithm = soft_actor_critic(
        agent.backup,
        agent.settings,
        agent.observations,
        agent.actions,
        agent.seed,
        entropy_weights=agent.entropy_weights,
        acting=agent.acting_weights,
        loss_weights=agent.loss_weights,
        deepen_every=agent.deepens_every,
        optimiser=optimiser,
    )
    parameters = agent.state.parameters._replace(log_temperature=np.float32(np.log(ALPHA)))
    memory = tuple(optimiser.init(part) for part in parameters)
    agent.state = agent.state._replace(parameters=parameters, optimiser=memory)
    n = agent.backup.n
    batch = {
        "seen": RNG.normal(size=(BATCH, 2)),
        "done": RNG.uniform(-0.9, 0.9, (BATCH, SIZE)),
        "rewards": RNG.normal(size=(BATCH, n)),
        "following": RNG.normal(size=(BATCH, 2)),
        "terminated": np.array([0, 1, 0, 0, 0.0]),
    }
    lengths = np.full((BATCH, 1), n)
    rows = np.column_stack(
        [*list(batch.values())[:4], batch["terminated"][:, None], lengths]
    ).astype(np.float32)
    taken = agent.experience.layout.unpack(Sample(rows, None, None))
    after, metrics = jax.jit(algorithm.update)(agent.state, taken)
    words = np.random.SeedSequence(agent.seed, spawn_key=(6,)).generate_state(2)
    key = jax.random.fold_in(jax.random.wrap_key_data(np.asarray(words, np.uint32)), 0)
    noise = np.asarray(jax.random.normal(key, (2, BATCH, SIZE)), np.float64)
    return agent, batch, noise, after, metrics


def critics_and_actor(parameters):
    return [as_numpy(arrays) for arrays in parameters.critics], as_numpy(parameters.actor)


def test_targets_are_those_of_the_equations(case):
    agent, batch, noise, _, metrics = case
    targets = twin_targets(agent, *critics_and_actor(agent.state.parameters), batch, noise[1])
    np.testing.assert_allclose(metrics["target"], targets.mean(axis=0), rtol=2e-4, atol=1e-5)


def test_critics_descend_the_gradient_of_plain_differences(case):
    agent, batch, noise, after, _ = case
    critics, actor = critics_and_actor(agent.state.parameters)
    targets = twin_targets(agent, critics, actor, batch, noise[1])
    for arrays, new in zip(critics, after.parameters.critics, strict=True):
        by_hand = slopes(
            lambda arrays=arrays: np.mean(
                (targets - critic(arrays, batch["seen"], batch["done"])) ** 2
            ),
            arrays,
        )
        for old, changed, slope in zip(arrays, as_numpy(new), by_hand, strict=True):
            np.testing.assert_allclose(changed, old - STEP_SIZE * slope, atol=2e-6)
        assert max(np.abs(slope).max() for slope in by_hand) > 0.1


def test_the_actor_climbs_what_the_changed_critics_expect(case):
    agent, batch, noise, after, _ = case
    _, actor = critics_and_actor(agent.state.parameters)
    critics, _ = critics_and_actor(after.parameters)
    acting = agent.acting_weights

    def loss():
        done, log_density = policy(actor, batch["seen"], noise[0])
        lowest = np.minimum(*(critic(arrays, batch["seen"], done) for arrays in critics))
        return np.mean(ALPHA * log_density - lowest @ acting)

    by_hand = slopes(loss, actor)
    for old, changed, slope in zip(actor, as_numpy(after.parameters.actor), by_hand, strict=True):
        np.testing.assert_allclose(changed, old - STEP_SIZE * slope, atol=2e-6)
    # Negative control: without the entropy the actor would go elsewhere.
    assert max(np.abs(slope).max() for slope in by_hand) > 0.01


def test_the_temperature_goes_towards_the_wanted_entropy(case):
    agent, batch, noise, after, metrics = case
    _, actor = critics_and_actor(agent.state.parameters)
    _, log_density = policy(actor, batch["seen"], noise[0])
    wanted = np.log(ALPHA) + STEP_SIZE * (log_density.mean() - SIZE)
    np.testing.assert_allclose(after.parameters.log_temperature, wanted, rtol=1e-4)
    np.testing.assert_allclose(metrics["entropy"], -log_density.mean(), rtol=1e-4)


def test_densities_add_up_to_one():
    outputs = np.array([[[0.4, -0.5]]], np.float32)
    noise = np.linspace(-8, 8, 4001, dtype=np.float32)[:, None]
    actions, logs = gaussian.drawn(np.repeat(outputs, len(noise), axis=0), noise)
    whole = np.trapezoid(np.exp(np.asarray(logs, np.float64)), np.asarray(actions)[:, 0])
    assert whole == pytest.approx(1, abs=1e-3)


def test_far_out_densities_are_finite():
    outputs = np.array([[[30.0, 9.0]], [[-30.0, -99.0]]], np.float32)
    actions, logs = gaussian.drawn(outputs, np.array([[3.0], [-3.0]], np.float32))
    assert np.isfinite(logs).all()
    assert np.abs(actions).max() <= 1


def test_the_backup_is_the_whole_difference():
    """One horizon is SAC that looks no further than the next reward."""
    common = {"hidden": (6,), "learning_starts": 20, "batch_size": 8, "layer_norm": False}
    one = FHSAC(Continuous(), horizon=1, deepen_every=None, seed=3, **common)
    other = SAC(Continuous(), discount=0.0, tau=None, seed=3, **common)
    for agent in (one, other):
        agent.learn(60)
    for mine, its in zip(
        jax.tree.leaves(one.state.parameters), jax.tree.leaves(other.state.parameters), strict=True
    ):
        np.testing.assert_array_equal(mine, its)


# Small problems whose soft values are known: two states and an end, one number to choose. Up, from
# state 0 to 1 and from 1 to the end, which brings 2; else down to state 0.


def curved(action):
    """Going up is more likely the higher the action, whose square is a cost."""
    return -(action**2), (1 + action) / 2


def straight(action):
    """Values are linear: a critic without hidden layers is enough."""
    return 0.5 * action, np.full_like(action, 0.5)


MEANS, LOG_DEVIATIONS = np.array([0.3, -0.2]), np.array([-0.4, -0.7])
GRID = np.linspace(-0.9995, 0.9995, 4001)


def exact_soft_values(problem, horizon, alpha, entropy_at_ground=False):
    """Q^h(s, a) on the grid, by sums over the grid: (horizon, states, grid)."""
    u = np.arctanh(GRID)
    noise = (u[None] - MEANS[:, None]) / np.exp(LOG_DEVIATIONS)[:, None]
    logs = -(noise**2) / 2 - LOG_DEVIATIONS[:, None] - np.log(2 * np.pi) / 2
    logs = logs - np.log(1 - GRID**2)
    weights = np.exp(logs)
    weights /= weights.sum(axis=1, keepdims=True)
    entropy = -(weights * logs).sum(axis=1)
    after = alpha * entropy if entropy_at_ground else np.zeros(2)
    found, (reward, up) = [], problem(GRID)
    for _ in range(horizon):
        low = reward + DISCOUNT * ((1 - up) * after[0] + up * after[1])
        high = reward + up * 2.0 + DISCOUNT * (1 - up) * after[0]
        values = np.array([low, high])
        found.append(values)
        after = (weights * values).sum(axis=1) + alpha * entropy
    return np.array(found)


def transitions(problem):
    """All there are, as often as they are likely: actions by tenths, twenty times each."""
    states, tenths, copies = (a.ravel() for a in np.mgrid[0:2, 0:21, 0:20])
    done = tenths / 10 - 1
    reward, chance = problem(done)
    up = copies < np.rint(20 * chance)
    rewards, ended = reward + 2.0 * (up & (states == 1)), up & (states == 1)
    following = np.where(up & (states == 0), 1, 0)
    count = np.ones(len(states))
    columns = [np.eye(2)[states], done, rewards, np.eye(2)[following], ended, count]
    return np.column_stack(columns).astype(np.float32)


def learn(agent, problem, alpha, rounds):
    """Critics' values of a fixed policy, from all transitions at once."""
    batch = agent.experience.layout.unpack(Sample(transitions(problem), None, None))
    weight = np.stack([MEANS, LOG_DEVIATIONS], axis=1)
    actor = (jax.numpy.asarray(weight, np.float32), jax.numpy.zeros(2))

    def once(state, _):
        state, _ = agent.loop.algorithm.update(state, batch)
        return state._replace(parameters=state.parameters._replace(actor=actor)), None

    parameters = agent.state.parameters._replace(actor=actor)
    state = agent.state._replace(parameters=parameters)
    agent.state = jax.jit(lambda state: jax.lax.scan(once, state, None, rounds)[0])(state)


def check(agent, exact, first, tolerance):
    """Values of every output in every state, from horizon `first` on; the largest error."""
    tried = np.linspace(-0.8, 0.8, 9, dtype=np.float32)
    worst = 0.0
    for state in range(2):
        seen = np.eye(2, dtype=np.float32)[[state] * 9]
        values = agent.loop.algorithm.action_values(agent.state.parameters, seen, tried[:, None])
        for j in range(agent.backup.size):
            true = np.interp(tried, GRID, exact[first + j - 1, state])
            worst = max(worst, np.abs(np.asarray(values)[:, j] - true).max())
    assert worst < tolerance
    return worst


def evaluator(monkeypatch, **options):
    """An agent whose actor has no hidden layers, so that its policy can be written down."""
    from fhtd.deep import networks

    made = networks.Network

    def flat(shape, n_actions, n_outputs, widths, *others, **more):
        widths = widths if more.get("n_beside") else ()
        return made(shape, n_actions, n_outputs, widths, *others, **more)

    monkeypatch.setattr(networks, "Network", flat)
    chosen = {"discount": DISCOUNT, "temperature": 0.5, "layer_norm": False, "horizon": 3}
    return FHSAC(Continuous(size=1, n_seen=2), **(chosen | options))


def test_soft_values_are_those_of_dynamic_programming(monkeypatch):
    agent = evaluator(monkeypatch, hidden=(48,), learning_rate=3e-3, deepen_every=None)
    learn(agent, curved, 0.5, 2500)
    check(agent, exact_soft_values(curved, 3, 0.5), 1, 0.07)
    # Negative control: entropy where nothing is to come would be seen.
    wrong = exact_soft_values(curved, 3, 0.5, entropy_at_ground=True)
    with pytest.raises(AssertionError):
        check(agent, wrong, 1, 0.14)


def test_after_each_move_soft_values_are_those_of_longer_horizons(monkeypatch):
    """Nothing beneath but the base, which counts the entropy from the first move on."""
    agent = evaluator(monkeypatch, hidden=(), learning_rate=0.01, deepen_every=10**6)
    exact = exact_soft_values(straight, 6, 0.5)
    wrong = exact_soft_values(straight, 6, 0.5, entropy_at_ground=True)
    for move in range(4):
        learn(agent, straight, 0.5, 1500)
        check(agent, exact, move + 1, 0.08)
        with pytest.raises(AssertionError):
            check(agent, wrong, move + 1, 0.08)
        agent.deepen()


def test_the_entropy_is_weighed_as_the_reward_is():
    """Hyperbolic weights: c_h of the horizon that is bootstrapped from."""
    weighting = Weighting.hyperbolic(3, 0.5)
    agent = FHSAC(
        Continuous(size=1, n_seen=1),
        weighting=weighting,
        hidden=(),
        temperature=0.5,
        learning_starts=5,
        batch_size=4,
    )
    critics = tuple(tuple(np.zeros_like(a) for a in one) for one in agent.state.parameters.critics)
    agent.state = agent.state._replace(parameters=agent.state.parameters._replace(critics=critics))
    row = np.array([[1, 0.5, 2.0, 1, 0, 1]], np.float32)
    batch = agent.experience.layout.unpack(Sample(row, None, None))
    _, metrics = agent.loop.algorithm.update(agent.state, batch)
    c, targets = weighting.rewards, np.asarray(metrics["target"], np.float64)
    assert targets[0] == pytest.approx(2 * c[0])
    # All values are 0: what is left beside the reward is the entropy of the next step alone.
    bonus = targets[1:] - 2 * c[1:]
    assert bonus[1] / bonus[0] == pytest.approx(c[1] / c[0], rel=1e-4)
