/* The benchmark's algorithms in C: sample a transition of a finite MDP, then learn from it.

   Rows of weights run over horizons, contiguous, with column 0 fixed at zero. Horizons are updated
   from the last down, so that each reads the values from before the transition, also when the next
   state is the same one. A terminal state is worth zero at every horizon. */

#include <stdint.h>
#include <string.h>

/* Probabilities are cumulative, and above 1 from the last possible entry on. */
typedef struct {
    int64_t n_states, n_actions, n_outcomes;
    const double *start;        /* [state] */
    const double *behaviour;    /* [state][action] */
    const double *outcomes;     /* [state][action][outcome] */
    const int64_t *next_states; /* likewise */
    const double *rewards;
    const uint8_t *terminal;
} World;

typedef struct {
    int64_t next;
    double reward;
    int terminal;
} Outcome;

static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

/* xoshiro256++ by Blackman and Vigna; a number from [0, 1). */
static inline double uniform(uint64_t s[4]) {
    const uint64_t result = rotate(s[0] + s[3], 23) + s[0];
    const uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return (result >> 11) * 0x1.0p-53;
}

static inline int64_t draw(const double *cumulative, uint64_t random[4]) {
    if (cumulative[0] > 1) return 0;
    const double u = uniform(random);
    int64_t k = 0;
    while (u >= cumulative[k]) k++;
    return k;
}

static inline Outcome act(const World *world, int64_t s, int64_t action, uint64_t random[4]) {
    const int64_t at = (s * world->n_actions + action) * world->n_outcomes;
    const int64_t k = at + draw(world->outcomes + at, random);
    return (Outcome){world->next_states[k], world->rewards[k], world->terminal[k]};
}

static inline Outcome follow(const World *world, int64_t s, uint64_t random[4]) {
    return act(world, s, draw(world->behaviour + s * world->n_actions, random), random);
}

/* V^h(S) <- V^h(S) + alpha [R + gamma V^(h-1)(S') - V^h(S)]. `following` is NULL where the next
   state is worth nothing. */
static inline void back_up(double *value, const double *following, int64_t horizons, double reward,
                           double discount, double step_size) {
    if (following)
        for (int64_t h = horizons; h > 0; h--)
            value[h] += step_size * (reward + discount * following[h - 1] - value[h]);
    else
        for (int64_t h = horizons; h > 0; h--) value[h] += step_size * (reward - value[h]);
}

/* weights: [state][horizons + 1]. */
void one_step(const World *world, double *weights, int64_t horizons, double discount,
              double step_size, int64_t steps, uint64_t random[4]) {
    const int64_t width = horizons + 1;
    int64_t s = draw(world->start, random);
    for (int64_t t = 0; t < steps; t++) {
        const Outcome seen = follow(world, s, random);
        back_up(weights + s * width, seen.terminal ? NULL : weights + seen.next * width, horizons,
                seen.reward, discount, step_size);
        s = seen.terminal ? draw(world->start, random) : seen.next;
    }
}

/* weights: [state][horizons / n + 1]; window_states and window_rewards: [n]. */
void n_step(const World *world, double *weights, int64_t horizons, int64_t n, double discount,
            double step_size, int64_t steps, uint64_t random[4], int64_t *window_states,
            double *window_rewards) {
    const int64_t columns = horizons / n, width = columns + 1;
    double discount_n = 1;
    for (int64_t k = 0; k < n; k++) discount_n *= discount;
    int64_t newest = n - 1, pending = 0;
    int64_t s = draw(world->start, random);
    for (int64_t t = 0; t < steps; t++) {
        const Outcome seen = follow(world, s, random);
        newest = newest + 1 == n ? 0 : newest + 1;
        window_states[newest] = s;
        window_rewards[newest] = seen.reward;
        pending++;
        while (pending == n || (seen.terminal && pending > 0)) {
            double sum = 0;
            int64_t slot = newest;
            for (int64_t k = 0; k < pending; k++) {
                sum = window_rewards[slot] + discount * sum;
                if (k + 1 < pending) slot = slot == 0 ? n - 1 : slot - 1;
            }
            back_up(weights + window_states[slot] * width,
                    seen.terminal ? NULL : weights + seen.next * width, columns, sum, discount_n,
                    step_size);
            pending--;
        }
        s = seen.terminal ? draw(world->start, random) : seen.next;
    }
}

/* weights: [state][horizons + 1]; window: [horizons]; error: [horizons + 1]. The error of horizon h
   is credited to horizon h + i of the state i steps back. */
void traces(const World *world, double *weights, int64_t horizons, double lambda, double discount,
            double step_size, int64_t steps, uint64_t random[4], int64_t *window,
            double *restrict error) {
    const int64_t width = horizons + 1;
    int64_t newest = horizons - 1, pending = 0;
    int64_t s = draw(world->start, random);
    for (int64_t t = 0; t < steps; t++) {
        const Outcome seen = follow(world, s, random);
        newest = newest + 1 == horizons ? 0 : newest + 1;
        window[newest] = s;
        if (pending < horizons) pending++;
        const double *value = weights + s * width;
        if (seen.terminal) {
            for (int64_t h = 1; h <= horizons; h++) error[h] = seen.reward - value[h];
        } else {
            const double *following = weights + seen.next * width;
            for (int64_t h = 1; h <= horizons; h++)
                error[h] = seen.reward + discount * following[h - 1] - value[h];
        }
        double factor = step_size;
        int64_t slot = newest;
        for (int64_t i = 0; i < pending; i++) {
            double *credited = weights + window[slot] * width + i;
            for (int64_t h = 1; h <= horizons - i; h++) credited[h] += factor * error[h];
            factor *= discount * lambda;
            slot = slot == 0 ? horizons - 1 : slot - 1;
        }
        if (seen.terminal) pending = 0;
        s = seen.terminal ? draw(world->start, random) : seen.next;
    }
}

/* A best action at the last horizon, ties broken uniformly. rows: [action][horizons + 1]. */
static inline int64_t greedy(const double *rows, int64_t horizons, int64_t n_actions,
                             uint64_t random[4]) {
    double best = rows[horizons];
    int64_t chosen = 0, ties = 1;
    for (int64_t action = 1; action < n_actions; action++) {
        const double value = rows[action * (horizons + 1) + horizons];
        if (value > best) {
            best = value;
            chosen = action;
            ties = 1;
        } else if (value == best && uniform(random) * ++ties < 1) {
            chosen = action;
        }
    }
    return chosen;
}

/* weights: [state][action][horizons + 1]; best: [horizons + 1]. */
void control(const World *world, double *weights, int64_t horizons, double epsilon,
             double discount, double step_size, int64_t steps, uint64_t random[4],
             double *restrict best) {
    const int64_t width = horizons + 1, n_actions = world->n_actions;
    int64_t s = draw(world->start, random);
    for (int64_t t = 0; t < steps; t++) {
        double *rows = weights + s * n_actions * width;
        const int64_t action = uniform(random) < epsilon
                                   ? (int64_t)(uniform(random) * n_actions)
                                   : greedy(rows, horizons, n_actions, random);
        const Outcome seen = act(world, s, action, random);
        if (!seen.terminal) {
            const double *following = weights + seen.next * n_actions * width;
            memcpy(best, following, sizeof(double) * width);
            for (int64_t a = 1; a < n_actions; a++) {
                following += width;
                for (int64_t h = 0; h < horizons; h++)
                    best[h] = following[h] > best[h] ? following[h] : best[h];
            }
        }
        back_up(rows + action * width, seen.terminal ? NULL : best, horizons, seen.reward, discount,
                step_size);
        s = seen.terminal ? draw(world->start, random) : seen.next;
    }
}

/* Random actions, each held for `duration` steps or until the episode ends; one update from the m
   steps that were taken: horizon h sums min(m, h) rewards and bootstraps from h - m. weights:
   [state][action][horizons + 1]; sums: [duration + 1]; best: [horizons + 1]. */
void held(const World *world, double *weights, int64_t horizons, int64_t duration, double discount,
          double step_size, int64_t steps, uint64_t random[4], double *restrict sums,
          double *restrict best) {
    const int64_t width = horizons + 1, n_actions = world->n_actions;
    int64_t s = draw(world->start, random);
    for (int64_t t = 0; t < steps; t++) {
        const int64_t action = (int64_t)(uniform(random) * n_actions);
        Outcome seen = {s, 0, 0};
        double factor = 1;
        int64_t m = 0;
        sums[0] = 0;
        while (m < duration && !seen.terminal) {
            seen = act(world, seen.next, action, random);
            sums[m + 1] = sums[m] + factor * seen.reward;
            factor *= discount;
            m++;
        }
        if (!seen.terminal) {
            const double *following = weights + seen.next * n_actions * width;
            memcpy(best, following, sizeof(double) * width);
            for (int64_t a = 1; a < n_actions; a++) {
                following += width;
                for (int64_t h = 0; h < horizons; h++)
                    best[h] = following[h] > best[h] ? following[h] : best[h];
            }
        }
        double *value = weights + (s * n_actions + action) * width;
        const int64_t within = m < horizons ? m : horizons;
        for (int64_t h = 1; h < within; h++) value[h] += step_size * (sums[h] - value[h]);
        back_up(value + within - 1, seen.terminal ? NULL : best, horizons - within + 1, sums[m],
                factor, step_size);
        s = seen.terminal ? draw(world->start, random) : seen.next;
    }
}

/* The first `near` horizons one-step, from there every n-th; n divides what is left. weights:
   [state][action][columns + 1]; the windows: [n]; best: [columns + 1]. */
void hybrid(const World *world, double *weights, int64_t horizons, int64_t n, int64_t near,
            double epsilon, double discount, double step_size, int64_t steps, uint64_t random[4],
            int64_t *window_rows, double *window_rewards, double *restrict best) {
    const int64_t columns = near + (horizons - near) / n, width = columns + 1;
    const int64_t n_actions = world->n_actions;
    double discount_n = 1;
    for (int64_t k = 0; k < n; k++) discount_n *= discount;
    int64_t newest = n - 1, pending = 0;
    int64_t s = draw(world->start, random);
    for (int64_t t = 0; t < steps; t++) {
        double *rows = weights + s * n_actions * width;
        const int64_t action = uniform(random) < epsilon
                                   ? (int64_t)(uniform(random) * n_actions)
                                   : greedy(rows, columns, n_actions, random);
        const Outcome seen = act(world, s, action, random);
        if (!seen.terminal) {
            const double *following = weights + seen.next * n_actions * width;
            memcpy(best, following, sizeof(double) * width);
            for (int64_t a = 1; a < n_actions; a++) {
                following += width;
                for (int64_t h = 0; h < columns; h++)
                    best[h] = following[h] > best[h] ? following[h] : best[h];
            }
        }
        newest = newest + 1 == n ? 0 : newest + 1;
        window_rows[newest] = (s * n_actions + action) * width;
        window_rewards[newest] = seen.reward;
        pending++;
        back_up(rows + action * width, seen.terminal ? NULL : best, near, seen.reward, discount,
                step_size);
        while (pending == n || (seen.terminal && pending > 0)) {
            double sum = 0;
            int64_t slot = newest;
            for (int64_t k = 0; k < pending; k++) {
                sum = window_rewards[slot] + discount * sum;
                if (k + 1 < pending) slot = slot == 0 ? n - 1 : slot - 1;
            }
            back_up(weights + window_rows[slot] + near, seen.terminal ? NULL : best + near,
                    columns - near, sum, discount_n, step_size);
            pending--;
        }
        s = seen.terminal ? draw(world->start, random) : seen.next;
    }
}
