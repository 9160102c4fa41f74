"""What a move of a window of horizons does to the weights."""

from fhtd.online.kernels.compiled import Array, compiled


@compiled
def move(weights: Array) -> None:
    """V_0 <- V_1, V_j <- V_(j+1); the last column stays."""
    for i in range(weights.shape[0]):
        for h in range(weights.shape[1] - 1):
            weights[i, h] = weights[i, h + 1]
