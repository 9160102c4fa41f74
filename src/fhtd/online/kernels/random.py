"""Random numbers inside kernels: xoshiro256++ on an explicit state of four 64-bit words.

Each run seeds its own state from a NumPy SeedSequence, so runs are the same for any number of
threads. Generator by Blackman and Vigna.
"""

import numpy as np

from fhtd.online.kernels.compiled import Array, inlined


@inlined
def random_bits(state: Array) -> int:
    """The next 64 bits."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    mixed = s0 + s3
    result = ((mixed << np.uint64(23)) | (mixed >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[0], state[1], state[2] = s0, s1, s2
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return result


@inlined
def uniform(state: Array) -> float:
    """A number from [0, 1) with 53 random bits."""
    return (random_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def draw(cumulative: Array, state: Array) -> int:
    """An index with the given cumulative probabilities, whose last entries are above 1."""
    if cumulative[0] > 1:
        return 0
    u = uniform(state)
    k = 0
    while u >= cumulative[k]:
        k += 1
    return k
