"""The paper's algorithms as plain nested loops: slow, naive, and sharing no code with the package.

Every function takes a whole stream of transitions and the weights to start from, and returns the
weights after each transition. Because the whole stream is at hand, the past is looked up instead of
being kept in buffers. Where the paper's pseudocode, read literally, changes horizons in place, the
equations rule: every error of a transition uses the weights from before that transition.

Names in quotes are the labels of equations and algorithms in the paper's source. Sections of the
textbook are those of Sutton and Barto, "Reinforcement Learning", second edition (2018).

    symbol      here                       meaning
    H, h        h in horizons(w)           final horizon; one of the learned horizons
    w^h         w[h][i]                    weight i of horizon h; w[0] is all zeros, so V^0 = 0
    phi(s)      step.features[i]           feature i of state s
    phi(s, a)   state_action(phi, a, ...)  the features of s in the block of action a, else zeros
    V^h(s)      dot(w[h], phi)             value of s at horizon h
    R_{t+1}     stream[t].reward           reward of transition t
    rho_t       stream[t].ratio            importance ratio of transition t
    gamma_t+1   stream[t].continuation     how much of what follows transition t counts
    lambda_t+1  stream[t].lam              lambda of S_{t+1}, where it is not the same for all
    A_t         stream[t].action           action of transition t
    c_h, d_h    c[h], d[h]                 G^h = c_h R + d_h V^(h-1)(S'); entry 0 is never used
    alpha_t     alpha(t)                   step size; t counts transitions and never restarts
    gamma       gamma                      discount of the infinite-horizon baselines
    lambda      lam                        trace decay
    tau         tau                        time of the state whose value is changed
    delta^h     delta[h]                   temporal-difference error of horizon h
"""

from typing import NamedTuple


class Transition(NamedTuple):
    """Transition t: S_t, R_{t+1}, S_{t+1}, how it ended, and rho_t or A_t."""

    features: list
    reward: float
    next_features: list
    terminated: bool = False
    truncated: bool = False
    ratio: float = 1.0
    action: int = 0
    next_policy: list | None = None
    continuation: float = 1.0
    lam: float | None = None


# Small pieces


def dot(x, y):
    """w . phi: the inner product, without conjugation."""
    total = 0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def add(x, scale, y):
    """x <- x + scale y, in place."""
    for i in range(len(x)):
        x[i] += scale * y[i]


def copy(w):
    """A snapshot of the weights of every horizon."""
    return {h: list(w[h]) for h in w}


def horizons(w):
    """The learned horizons, ascending: all but horizon 0."""
    return sorted(h for h in w if h > 0)


def next_value(w_h, step):
    """V^h(S_{t+1}): zero after a termination, also when a time limit strikes at the same moment."""
    if step.terminated:
        return 0
    return dot(w_h, step.next_features)


def episode_start(stream, t):
    """The first transition of the episode that transition t belongs to."""
    start = t
    while start > 0 and not (stream[start - 1].terminated or stream[start - 1].truncated):
        start -= 1
    return start


def weighted_rewards(stream, tau, h, count, c, d):
    """sum_{k<count} (prod_{j<k} d_{h-j}) c_{h-k} R_{tau+k+1}, prod_{j<count} d_{h-j}, prod rho."""
    total, scale, rho = 0, 1, 1
    for k in range(count):
        total += scale * c[h - k] * stream[tau + k].reward
        scale *= d[h - k] * stream[tau + k].continuation
        rho *= stream[tau + k].ratio
    return total, scale, rho


# Fixed-horizon prediction


def fhtd(stream, w, c, d, alpha):
    """Algorithm "onestepfhtd"; Eqs. "onestepfhtdtarget" and "onestepfhtdupdate".

    G^h = c_h R + d_h V^(h-1)(S'); the ratio multiplies the error.
    """
    w, history = copy(w), []
    for t, step in enumerate(stream):
        delta = {}
        for h in horizons(w):
            following = step.continuation * next_value(w[h - 1], step)
            target = c[h] * step.reward + d[h] * following
            delta[h] = target - dot(w[h], step.features)
        for h in horizons(w):
            add(w[h], alpha(t) * step.ratio * delta[h], step.features)
        history.append(copy(w))
    return history


def n_step_fhtd(stream, w, c, d, alpha, n):
    """Algorithm "nstepfhtd"; Eqs. "nstepfhtdtarget" and "nstepfhtdupdate".

    G^h = sum of the first m = min(n, h) rewards + (prod d) V^(h-m)(S_{tau+m}). A state waits for n
    transitions; a termination hands it the rewards it has; a time limit leaves only the horizons
    that are complete already.
    """
    w, history = copy(w), []
    for t, step in enumerate(stream):
        bootstrap = {h: next_value(w[h], step) for h in w}
        oldest = max(episode_start(stream, t), t + 1 - n)
        newest = t if step.terminated or step.truncated else t + 1 - n
        for tau in range(oldest, newest + 1):
            phi = stream[tau].features
            available = t + 1 - tau
            for h in horizons(w):
                m = min(n, h)
                if available >= m:
                    target, scale, rho = weighted_rewards(stream, tau, h, m, c, d)
                    target += scale * bootstrap[h - m]
                elif step.terminated:
                    target, _, rho = weighted_rewards(stream, tau, h, available, c, d)
                else:
                    continue
                add(w[h], alpha(t) * rho * (target - dot(w[h], phi)), phi)
        history.append(copy(w))
    return history


def fixed_horizon_mc(stream, w, c, d, alpha):
    """Eq. "deffhreturn": fixed-horizon Monte Carlo, every horizon, never bootstrapping.

    V^h(S_tau) moves once its h rewards are there, or at a termination with those it has.
    """
    w, history = copy(w), []
    for t, step in enumerate(stream):
        for h in horizons(w):
            oldest = max(episode_start(stream, t), t + 1 - h)
            newest = t if step.terminated else t + 1 - h
            for tau in range(oldest, newest + 1):
                phi = stream[tau].features
                target, _, rho = weighted_rewards(stream, tau, h, t + 1 - tau, c, d)
                add(w[h], alpha(t) * rho * (target - dot(w[h], phi)), phi)
        history.append(copy(w))
    return history


def fhtd_lambda(stream, w, c, d, alpha, lam):
    """Algorithm "fhtdlambda"; Eqs. "onestepfhtdtderror" and "recfhtdlambdareturn".

    delta^h_t goes to horizon h+i of S_{t-i} with rho_t prod_{j=1..i} lambda d_{h+j} rho_{t-j}.
    """
    w, history = copy(w), []
    for t, step in enumerate(stream):
        start = episode_start(stream, t)
        delta = {}
        for h in horizons(w):
            following = step.continuation * next_value(w[h - 1], step)
            target = c[h] * step.reward + d[h] * following
            delta[h] = target - dot(w[h], step.features)
        H = max(w)
        for h in horizons(w):
            for i in range(H - h + 1):
                if t - i < start:
                    break
                e = step.ratio
                for j in range(1, i + 1):
                    past = stream[t - j]
                    decay = lam if past.lam is None else past.lam
                    e *= decay * d[h + j] * past.continuation * past.ratio
                add(w[h + i], alpha(t) * e * delta[h], stream[t - i].features)
        history.append(copy(w))
    return history


# Fixed-horizon control


def state_action(phi, action, n_weights):
    """phi(s, a): the state's features in the block of the action, zeros in all other blocks."""
    features = [0] * n_weights
    for i in range(len(phi)):
        features[action * len(phi) + i] = phi[i]
    return features


def action_values(w_h, phi):
    """Q^h(s, a) for every action a."""
    n_actions = len(w_h) // len(phi)
    return [dot(w_h, state_action(phi, a, len(w_h))) for a in range(n_actions)]


def next_action_value(w_h, step):
    """max_a Q^h(S', a), or sum_a pi(a) Q^h(S', a) where a policy is given; zero once terminated."""
    if step.terminated:
        return 0
    values = action_values(w_h, step.next_features)
    if step.next_policy is None:
        return max(values)
    return dot(step.next_policy, values)


def is_greedy(w, h, step):
    """Pi of Algorithm "fhqlambda": whether A_t is among the greedy actions of Q^h(S_t, .)."""
    values = action_values(w[h], step.features)
    return values[step.action] == max(values)


def fhq(stream, w, c, d, alpha):
    """Algorithm "onestepfhqlearning"; Eqs. "onestepfhqltarget" and "onestepfhqlupdate"."""
    w, history = copy(w), []
    for t, step in enumerate(stream):
        phi = state_action(step.features, step.action, len(w[0]))
        delta = {}
        for h in horizons(w):
            following = step.continuation * next_action_value(w[h - 1], step)
            target = c[h] * step.reward + d[h] * following
            delta[h] = target - dot(w[h], phi)
        for h in horizons(w):
            add(w[h], alpha(t) * delta[h], phi)
        history.append(copy(w))
    return history


def hybrid_fhq(stream, w, c, d, alpha, n, k):
    """The hybrid of the appendix on off-policyness: h <= k sums one reward, h > k min(n, h - k).

    G^h = sum of the first m rewards + (prod d) max_a Q^(h-m)(S_{tau+m}, a), as soon as they are
    there. A termination hands a waiting state the rewards it has. So does a time limit, where the
    horizon that is left over is learned; else the state is dropped. k = 0 is n-step FHQ.
    The ratios of the actions after the first multiply the error.
    """
    return _hybrid(stream, w, c, d, alpha, n, k, next_action_value, is_control=True)


def hybrid_fhtd(stream, w, c, d, alpha, n, k):
    """The same for state values; the ratios of the rewards that are summed multiply the error."""
    return _hybrid(stream, w, c, d, alpha, n, k, next_value, is_control=False)


def _hybrid(stream, w, c, d, alpha, n, k, value_of_next, is_control):
    w, history = copy(w), []
    for t, step in enumerate(stream):
        bootstrap = {h: value_of_next(w[h], step) for h in w}
        for tau in range(episode_start(stream, t), t + 1):
            available = t + 1 - tau
            phi = stream[tau].features
            if is_control:
                phi = state_action(phi, stream[tau].action, len(w[0]))
            for h in horizons(w):
                m = 1 if h <= k else min(n, h - k)
                cut = available < m and (step.terminated or step.truncated)
                if available == m or (cut and (step.terminated or h - available in w)):
                    target, scale, rho = weighted_rewards(stream, tau, h, available, c, d)
                    if not step.terminated:
                        target += scale * bootstrap[h - available]
                    if is_control:
                        rho = 1
                        for later in stream[tau + 1 : tau + available]:
                            rho *= later.ratio
                    add(w[h], alpha(t) * rho * (target - dot(w[h], phi)), phi)
        history.append(copy(w))
    return history


def fhq_lambda(stream, w, c, d, alpha, lam):
    """Algorithm "fhqlambda": the trace is cut where the action taken was not a greedy one.

    Stepping from horizon h+i of S_{t-i} back to horizon h+i+1 of S_{t-i-1}, the trace is multiplied
    by lambda d_{h+i+1} and by Pi of horizon h+i at time t-i, as it was when t-i was processed.
    """
    w, history, Pi = copy(w), [], []
    for t, step in enumerate(stream):
        start = episode_start(stream, t)
        phi = state_action(step.features, step.action, len(w[0]))
        Pi.append({h: is_greedy(w, h, step) for h in horizons(w)})
        delta = {}
        for h in horizons(w):
            following = step.continuation * next_action_value(w[h - 1], step)
            target = c[h] * step.reward + d[h] * following
            delta[h] = target - dot(w[h], phi)
        H = max(w)
        for h in horizons(w):
            e = 1
            for i in range(H - h + 1):
                if t - i < start:
                    break
                past = stream[t - i]
                past_phi = state_action(past.features, past.action, len(w[0]))
                add(w[h + i], alpha(t) * e * delta[h], past_phi)
                if i != H - h and t - i > start:
                    counts = stream[t - i - 1].continuation if Pi[t - i][h + i] else 0
                    e *= lam * d[h + i + 1] * counts
        history.append(copy(w))
    return history


# Temporal abstraction: the reward of a transition is a list, one for each of its steps


def long_target(w, step, h, c, d, value):
    """The rewards of the transition that horizon h still sees, then what is left of it."""
    target, scale = 0, 1
    for k in range(min(len(step.reward), h)):
        target += scale * c[h - k] * step.reward[k]
        scale *= d[h - k]
    if h > len(step.reward):
        target += scale * step.continuation * value(w[h - len(step.reward)], step)
    return target


def long_fhtd(stream, w, c, d, alpha):
    """One-step FHTD whose transitions take several steps each."""
    w, history = copy(w), []
    for t, step in enumerate(stream):
        delta = {}
        for h in horizons(w):
            target = long_target(w, step, h, c, d, next_value)
            delta[h] = target - dot(w[h], step.features)
        for h in horizons(w):
            add(w[h], alpha(t) * step.ratio * delta[h], step.features)
        history.append(copy(w))
    return history


def long_fhq(stream, w, c, d, alpha):
    """FHQ-learning whose transitions take several steps each: options, or repeated actions."""
    w, history = copy(w), []
    for t, step in enumerate(stream):
        phi = state_action(step.features, step.action, len(w[0]))
        delta = {}
        for h in horizons(w):
            target = long_target(w, step, h, c, d, next_action_value)
            delta[h] = target - dot(w[h], phi)
        for h in horizons(w):
            add(w[h], alpha(t) * delta[h], phi)
        history.append(copy(w))
    return history


def long_fixed_horizon_mc(stream, w, c, d, alpha):
    """Monte Carlo over the single steps; only the states that transitions begin in are learned."""
    w, history, steps, ends = copy(w), [], [], []
    for step in stream:
        for k in range(len(step.reward)):
            first, last = k == 0, k == len(step.reward) - 1
            steps.append(
                Transition(
                    step.features if first else [0] * len(step.features),
                    step.reward[k],
                    step.next_features,
                    step.terminated and last,
                    step.truncated and last,
                    step.ratio if first else 1,
                    continuation=step.continuation if last else 1,
                )
            )
        ends.append(len(steps))
    transition = [t for t in range(len(ends)) for _ in range(len(stream[t].reward))]
    every = fixed_horizon_mc(steps, w, c, d, lambda k: alpha(transition[k]))
    for end in ends:
        history.append(every[end - 1])
    return history


# Infinite-horizon baselines: w is one list of weights


def td(stream, w, gamma, alpha):
    """Eqs. "tdtarget" and "tdupdate": one-step TD; the ratio multiplies the error."""
    w, history = list(w), []
    for t, step in enumerate(stream):
        following = step.continuation * next_value(w, step)
        delta = step.reward + gamma * following - dot(w, step.features)
        add(w, alpha(t) * step.ratio * delta, step.features)
        history.append(list(w))
    return history


def n_step_td(stream, w, gamma, alpha, n):
    """n-step TD (textbook, sections 7.1 and 7.3): gamma^m V(S_{tau+m}) + sum_k gamma^k R.

    Both kinds of boundary hand the waiting states the rewards they have; only a time limit
    bootstraps.
    """
    w, history = list(w), []
    for t, step in enumerate(stream):
        bootstrap = next_value(w, step)
        oldest = max(episode_start(stream, t), t + 1 - n)
        newest = t if step.terminated or step.truncated else t + 1 - n
        for tau in range(oldest, newest + 1):
            phi = stream[tau].features
            m = t + 1 - tau
            target, scale, rho = 0, 1, 1
            for k in range(m):
                target += scale * stream[tau + k].reward
                scale *= gamma * stream[tau + k].continuation
                rho *= stream[tau + k].ratio
            target += scale * bootstrap
            add(w, alpha(t) * rho * (target - dot(w, phi)), phi)
        history.append(list(w))
    return history


def td_lambda(stream, w, gamma, alpha, lam):
    """TD(lambda) with an off-policy trace (textbook, section 12.9): z = rho (gamma lambda z + phi).

    The trace is written out as a sum over the episode so far.
    """
    w, history = list(w), []
    for t, step in enumerate(stream):
        following = step.continuation * next_value(w, step)
        delta = step.reward + gamma * following - dot(w, step.features)
        for i in range(t - episode_start(stream, t) + 1):
            e = step.ratio
            for j in range(1, i + 1):
                e *= gamma * lam * stream[t - j].continuation * stream[t - j].ratio
            add(w, alpha(t) * e * delta, stream[t - i].features)
        history.append(list(w))
    return history


def etd(stream, w, gamma, alpha, lam):
    """Emphatic TD(lambda) with interest 1 (textbook, section 12.11).

    F_t = gamma rho_{t-1} F_{t-1} + 1, M_t = lambda + (1 - lambda) F_t, z = rho (gamma lambda z +
    M_t phi); each episode starts from F = 1 and z = 0.
    """
    w, history = list(w), []
    for t, step in enumerate(stream):
        following = step.continuation * next_value(w, step)
        delta = step.reward + gamma * following - dot(w, step.features)
        F, z = 0, [0] * len(w)
        for past in range(episode_start(stream, t), t + 1):
            rho, counts = 0, 0
            if past > episode_start(stream, t):
                rho, counts = stream[past - 1].ratio, stream[past - 1].continuation
            F = gamma * counts * rho * F + 1
            M = lam + (1 - lam) * F
            for i in range(len(z)):
                kept = gamma * counts * lam * z[i]
                z[i] = stream[past].ratio * (kept + M * stream[past].features[i])
        add(w, alpha(t) * delta, z)
        history.append(list(w))
    return history


def tdc(stream, w, gamma, alpha, beta):
    """TDC, TD with gradient correction (textbook, section 11.7); v starts at zero.

    w += alpha rho (delta phi - gamma phi' (v . phi)); v += beta rho (delta - v . phi) phi.
    """
    w, v, history = list(w), [0] * len(w), []
    for t, step in enumerate(stream):
        phi = step.features
        counts = 0 if step.terminated else step.continuation
        next_phi = [counts * value for value in step.next_features]
        delta = step.reward + gamma * dot(w, next_phi) - dot(w, phi)
        estimate = dot(v, phi)
        for i in range(len(w)):
            w[i] += alpha(t) * step.ratio * (delta * phi[i] - gamma * next_phi[i] * estimate)
            v[i] += beta * step.ratio * (delta - estimate) * phi[i]
        history.append(list(w))
    return history


def q_learning(stream, w, gamma, alpha):
    """Eqs. "qltarget" and "qlupdate": Q-learning, or expected Sarsa where a policy is given."""
    w, history = list(w), []
    for t, step in enumerate(stream):
        phi = state_action(step.features, step.action, len(w))
        following = step.continuation * next_action_value(w, step)
        delta = step.reward + gamma * following - dot(w, phi)
        add(w, alpha(t) * delta, phi)
        history.append(list(w))
    return history
