"use strict";
/* Values of every horizon in a finite MDP, computed in the page so that any weighting can be asked.
 *
 *   model: sums over outcomes that go on (next, chance) of state-action pair i from first[i] on;
 *   reward[i] is its expected reward. Pairs are numbered state * actions + action.
 *   A weighting is the pair (c, d) of  V^h = c_h R + d_h V^(h-1)(S').
 */
const horizons = (() => {
  /** c and d for horizons 1..final, where `final` is the last one asked for. */
  function coefficients(weighting, final) {
    const c = new Float64Array(final).fill(1), d = new Float64Array(final).fill(1);
    for (let h = 1; h <= final; h++) {
      if (weighting.kind === "discount") d[h - 1] = weighting.value;
      if (weighting.kind === "average") { c[h - 1] = 1 / h; d[h - 1] = (h - 1) / h; }
      if (weighting.kind === "hyperbolic") c[h - 1] = 1 / (1 + weighting.value * (final - h));
      if (weighting.kind === "own") { c[h - 1] = weighting.c[h - 1]; d[h - 1] = weighting.d[h - 1]; }
    }
    return { c, d };
  }

  /** Weights of the rewards 1..h steps ahead in the value of horizon h: real and imaginary parts. */
  function row(weighting, h, total) {
    const real = new Float64Array(h), imaginary = new Float64Array(h);
    if (weighting.kind === "fourier") {
      for (let k = 0; k < h; k++) {
        const angle = (-2 * Math.PI * weighting.value * k) / total;
        real[k] = Math.cos(angle);
        imaginary[k] = Math.sin(angle);
      }
      return { real, imaginary };
    }
    const { c, d } = coefficients(weighting, h);
    let product = 1;
    for (let k = 0; k < h; k++) {
      real[k] = product * c[h - 1 - k];
      product *= d[h - 1 - k];
    }
    return { real, imaginary };
  }

  /** Values of all horizons from the expected reward of each step: weighted sums, row by row.
   *  rewards[i * H + k]; the answer has the same layout. Fourier gives magnitudes. */
  function fromRewards(rewards, H, weighting) {
    const values = new Float64Array(rewards.length), count = rewards.length / H;
    const complex = weighting.kind === "fourier";
    for (let h = 1; h <= H; h++) {
      const { real, imaginary } = row(weighting, h, H);
      for (let i = 0; i < count; i++) {
        let sum = 0, other = 0;
        for (let k = 0; k < h; k++) sum += real[k] * rewards[i * H + k];
        if (complex) for (let k = 0; k < h; k++) other += imaginary[k] * rewards[i * H + k];
        values[i * H + h - 1] = complex ? Math.hypot(sum, other) : sum;
      }
    }
    return values;
  }

  /** Expected value of the next state for a state-action pair. */
  function ahead(model, pair, values) {
    let sum = 0;
    for (let j = model.first[pair]; j < model.first[pair + 1]; j++) {
      sum += model.chance[j] * values[model.next[j]];
    }
    return sum;
  }

  /** Optimal action values of horizons 1..final: each horizon greedy for itself. [h-1][pair] */
  function recursion(model, weighting, final) {
    const { states, actions, reward } = model, { c, d } = coefficients(weighting, final);
    const found = [];
    let values = new Float64Array(states);
    for (let h = 0; h < final; h++) {
      const q = new Float64Array(states * actions), best = new Float64Array(states);
      for (let s = 0; s < states; s++) {
        let top = -Infinity;
        for (let pair = s * actions; pair < (s + 1) * actions; pair++) {
          q[pair] = c[h] * reward[pair] + d[h] * ahead(model, pair, values);
          if (q[pair] > top) top = q[pair];
        }
        best[s] = top;
      }
      found.push(q);
      values = best;
    }
    return found;
  }

  /** The same where each horizon is the final one of its own weighting. */
  function optimal(model, weighting, H) {
    if (weighting.kind !== "hyperbolic") return recursion(model, weighting, H);
    return Array.from({ length: H }, (_, i) => recursion(model, weighting, i + 1)[i]);
  }

  /** Expected reward of each of the next H steps for every pair, the policy followed afterwards. */
  function policyRewards(model, policy, H) {
    const { states, actions, reward } = model;
    const found = new Float64Array(states * actions * H);
    let later = new Float64Array(states);
    for (let k = 0; k < H; k++) {
      const now = new Float64Array(states);
      for (let pair = 0; pair < states * actions; pair++) {
        const value = k ? ahead(model, pair, later) : reward[pair];
        found[pair * H + k] = value;
        now[Math.floor(pair / actions)] += policy[pair] * value;
      }
      later = now;
    }
    return found;
  }

  /** Which actions are best, ties within a share of the largest value. */
  function greedy(q, states, actions, tolerance) {
    let scale = 0;
    for (const value of q) scale = Math.max(scale, Math.abs(value));
    const best = new Uint8Array(states * actions);
    for (let s = 0; s < states; s++) {
      let top = -Infinity;
      for (let a = 0; a < actions; a++) top = Math.max(top, q[s * actions + a]);
      for (let a = 0; a < actions; a++) best[s * actions + a] = q[s * actions + a] >= top - tolerance * scale ? 1 : 0;
    }
    return best;
  }

  /** Expected reward at each of `steps` steps from a state; policies(j) are the greedy sets of step j. */
  function follow(model, state, steps, policies) {
    const { states, actions, reward } = model, found = new Float64Array(steps);
    let now = new Float64Array(states);
    now[state] = 1;
    for (let j = 0; j < steps; j++) {
      const best = policies(j), next = new Float64Array(states);
      for (let s = 0; s < states; s++) {
        if (!now[s]) continue;
        let ties = 0;
        for (let a = 0; a < actions; a++) ties += best[s * actions + a];
        for (let a = 0; a < actions; a++) {
          const pair = s * actions + a;
          if (!best[pair]) continue;
          const share = now[s] / ties;
          found[j] += share * reward[pair];
          for (let i = model.first[pair]; i < model.first[pair + 1]; i++) next[model.next[i]] += share * model.chance[i];
        }
      }
      now = next;
    }
    return found;
  }

  /** Mean chance, over the states counted, that an action drawn from `mine` is among `theirs`. */
  function agreement(mine, theirs, counted, actions) {
    let sum = 0;
    for (const s of counted) {
      let own = 0, both = 0;
      for (let a = 0; a < actions; a++) {
        own += mine[s * actions + a];
        both += mine[s * actions + a] & theirs[s * actions + a];
      }
      sum += both / own;
    }
    return sum / counted.length;
  }

  return { fromRewards, recursion, optimal, policyRewards, greedy, follow, agreement };
})();
