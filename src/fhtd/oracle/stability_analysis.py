"""Is linear learning stable? The matrix A of the expected update w <- w + alpha (b - A w).

| here              | paper                                                               |
|-------------------|---------------------------------------------------------------------|
| td_matrix         | A = Phi' D (I - gamma P) Phi                                        |
| fhtd_matrix       | A = Phi' D Phi, for every horizon                                   |

The update contracts where every eigenvalue of A has a positive real part. Linearly dependent
features (Baird's has 8 for 7 states), and states that are never sampled, leave directions that no
update moves: each adds one eigenvalue 0 to either matrix and is left out of the verdict.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import StateFeatures
from fhtd.mdp import FiniteMDP
from fhtd.oracle import model
from fhtd.oracle.linear import feature_matrix, sampling_distribution

Floats = npt.NDArray[np.float64]

#: Eigenvalues within this fraction of the largest magnitude count as zero.
ZERO_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Stability:
    """Matrices, eigenvalues and verdicts for TD and FHTD; print it to read them in words."""

    td_matrix: Floats
    fhtd_matrix: Floats
    #: Smallest real part of an eigenvalue of the whole matrix.
    td_eigenvalue: float
    fhtd_eigenvalue: float
    #: The same over the directions that updates move (infinity if there are none).
    td_moving_eigenvalue: float
    fhtd_moving_eigenvalue: float
    td_is_stable: bool
    fhtd_is_stable: bool
    #: How many directions of the weights no update moves.
    n_idle: int
    discount: float

    @property
    def summary(self) -> str:
        """The two verdicts in words."""
        td = _verdict(
            "TD",
            f"Phi' D (I - {self.discount:g} P) Phi",
            self.td_eigenvalue,
            self.td_moving_eigenvalue,
            self.td_is_stable,
        )
        fhtd = _verdict(
            "FHTD",
            "Phi' D Phi",
            self.fhtd_eigenvalue,
            self.fhtd_moving_eigenvalue,
            self.fhtd_is_stable,
        )
        if not self.n_idle:
            return f"{td}\n{fhtd}"
        return (
            f"{td}\n{fhtd}\nNo update moves the weights along {self.n_idle} of "
            f"{len(self.td_matrix)} directions; their eigenvalues 0 do no harm. "
            f"(Magnitudes below {ZERO_TOLERANCE:g} of the largest are taken as 0.)"
        )

    def __str__(self) -> str:
        return self.summary


def stability(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    policy: npt.ArrayLike,
    distribution: npt.ArrayLike | None,
    discount: float,
) -> Stability:
    """Analyse TD and FHTD for a target policy, with states sampled from `distribution`.

    None samples from the policy's own stationary distribution: on-policy learning.
    """
    phi = feature_matrix(mdp, features)
    discount = checks.real("discount", discount)
    sampled = sampling_distribution(mdp, policy, distribution)
    following = model.transition_matrix(mdp, policy) @ phi
    weighted = phi.T * sampled
    td, fhtd = weighted @ (phi - discount * following), weighted @ phi
    # Every update is a combination of sampled feature vectors: the row space of D^(1/2) Phi.
    _, sizes, directions = np.linalg.svd(np.sqrt(sampled)[:, None] * phi)
    negligible = sizes.max(initial=0.0) * max(phi.shape) * np.finfo(np.float64).eps
    moving = directions[: int((sizes > negligible).sum())].T
    td_moving, td_stable = _smallest(moving.T @ td @ moving)
    fhtd_moving, fhtd_stable = _smallest(moving.T @ fhtd @ moving)
    return Stability(
        checks.frozen(td),
        checks.frozen(fhtd),
        _smallest(td)[0],
        _smallest(fhtd)[0],
        td_moving,
        fhtd_moving,
        td_stable,
        fhtd_stable,
        phi.shape[1] - moving.shape[1],
        discount,
    )


def _smallest(matrix: Floats) -> tuple[float, bool]:
    """The smallest real part of an eigenvalue, zero if negligible, and whether it is positive."""
    values = np.linalg.eigvals(matrix)
    smallest = float(values.real.min(initial=np.inf))
    if abs(smallest) <= ZERO_TOLERANCE * np.abs(values).max(initial=0.0):
        smallest = 0.0
    return smallest, smallest > 0


def _verdict(method: str, matrix: str, whole: float, moving: float, stable: bool) -> str:
    """One sentence on one method."""
    found = f"the smallest real part of an eigenvalue of {matrix} is {whole:.6g}"
    if stable:
        rest = "" if moving == whole else f" ({moving:.6g} along the directions that updates move)"
        return f"{method} is stable: {found}{rest}, so its expected updates contract."
    effect = "grow without bound" if moving < 0 else "need not settle"
    return f"{method} is unstable: {found}, so some weights {effect}."
