"""Is linear learning stable? The matrix A of the expected update w <- w + alpha (b - A w).

| here              | paper                                                               |
|-------------------|---------------------------------------------------------------------|
| td_matrix         | A = Phi' D (I - gamma P) Phi                                        |
| fhtd_matrix       | A = Phi' D Phi, for every horizon                                   |

The update contracts where every eigenvalue of A has a positive real part. Linearly dependent
features (Baird's has 8 for 7 states), and states that are never sampled, leave directions that no
update moves: each adds one eigenvalue 0 to either matrix and is left out of the verdict.

Over the directions that move, Phi' D Phi is positive definite, so FHTD is always stable: that is
the theorem, and no rounding error may contradict it. TD's eigenvalues are compared with the error
that they are computed with; where one cannot be told from 0, the verdict is None.
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

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Matrices, eigenvalues and verdicts for TD and FHTD; print it to read them in words.

    >>> from fhtd import oracle, problems
    >>> baird = problems.baird()
    >>> uniform = [1 / 7] * 7
    >>> oracle.stability(baird.mdp, baird.features, baird.target, uniform, baird.discount)
    Stability(TD: unstable, FHTD: stable)
    """

    #: Phi' D (I - gamma P) Phi.
    td_matrix: Floats
    #: Phi' D Phi.
    fhtd_matrix: Floats
    #: Smallest real part of an eigenvalue of TD's matrix; 0 where it cannot be told from 0.
    td_eigenvalue: float
    #: The same of FHTD's matrix.
    fhtd_eigenvalue: float
    #: Smallest real part over the directions that updates move (infinity if there are none).
    td_moving_eigenvalue: float
    #: The same for FHTD.
    fhtd_moving_eigenvalue: float
    #: Whether TD is stable; None where rounding errors leave it undecided.
    td_is_stable: bool | None
    #: Whether FHTD is stable: it is.
    fhtd_is_stable: bool
    #: How many directions of the weights no update moves.
    n_idle: int
    #: The discount of TD, gamma.
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
            f"{len(self.td_matrix)} directions; their eigenvalues 0 do no harm."
        )

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        return f"Stability(TD: {_WORDS[self.td_is_stable]}, FHTD: {_WORDS[self.fhtd_is_stable]})"


_WORDS = {True: "stable", False: "unstable", None: "undecided"}


def stability(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    policy: npt.ArrayLike,
    distribution: npt.ArrayLike | None,
    discount: float,
) -> Stability:
    """Analyse TD and FHTD for a target policy.

    Args:
        mdp: The MDP.
        features: (states, features), or features of its integer states.
        policy: (states, actions) probabilities of the target policy.
        distribution: The probability of sampling each state. None samples from the policy's own
            stationary distribution: on-policy learning.
        discount: The discount of TD, gamma.

    Returns:
        Both matrices, their eigenvalues and the verdicts.

    >>> from fhtd import oracle, problems
    >>> baird = problems.baird()
    >>> visited = oracle.stationary_distribution(baird.mdp, baird.behaviour)
    >>> oracle.stability(baird.mdp, baird.features, baird.target, visited, baird.discount)
    Stability(TD: unstable, FHTD: stable)
    """
    phi = feature_matrix(mdp, features)
    discount = checks.real("discount", discount)
    sampled = sampling_distribution(mdp, policy, distribution)
    following = model.transition_matrix(mdp, policy) @ phi
    weighted = phi.T * sampled
    changes = phi - discount * following
    moving = _moving_directions(phi[sampled > 0])
    root = np.sqrt(sampled)[:, None]
    present, change = root * (phi @ moving), root * (changes @ moving)
    td_moving, td_stable = _judge_td(present, change)
    sizes = np.linalg.svd(present, compute_uv=False)
    fhtd_moving = float(sizes.min(initial=np.inf) ** 2)
    n_idle = phi.shape[1] - moving.shape[1]
    return Stability(
        td_matrix=checks.frozen(weighted @ changes),
        fhtd_matrix=checks.frozen(weighted @ phi),
        td_eigenvalue=min(td_moving, 0.0) if n_idle else td_moving,
        fhtd_eigenvalue=0.0 if n_idle else fhtd_moving,
        td_moving_eigenvalue=td_moving,
        fhtd_moving_eigenvalue=fhtd_moving,
        td_is_stable=td_stable,
        fhtd_is_stable=True,
        n_idle=n_idle,
        discount=discount,
    )


def _moving_directions(rows: Floats) -> Floats:
    """An orthonormal basis of the weights' directions that sampled feature vectors span.

    However seldom a state is sampled and however small its features: rows count by direction.
    """
    lengths = np.linalg.norm(rows, axis=1)
    scaled = rows[lengths > 0] / lengths[lengths > 0, None]
    _, sizes, directions = np.linalg.svd(scaled)
    negligible = sizes.max(initial=0.0) * max(rows.shape) * _EPS
    return np.asarray(directions[: int((sizes > negligible).sum())].T)


def _judge_td(present: Floats, change: Floats) -> tuple[float, bool | None]:
    """The smallest real part of an eigenvalue of A = B' N, and whether all are positive.

    B is D^(1/2) Phi and N is D^(1/2) (I - gamma P) Phi, both over the moving directions.
    """
    n = present.shape[1]
    if n == 0:
        return np.inf, True
    matrix = present.T @ change
    values, vectors = np.linalg.eig(matrix)
    parts = values.real
    smallest = float(parts.min())
    # With B = Q R, A = R' (Q' N R^-1) R: if the middle is positive definite, A's eigenvalues are
    # positive, however small D makes some of them. On-policy it is (Tsitsiklis & Van Roy, 1997).
    q, r = np.linalg.qr(present)
    spread = np.linalg.cond(r)
    if spread < 1 / _EPS:
        middle = np.linalg.solve(r.T, (q.T @ change).T).T
        lowest = np.linalg.eigvalsh(middle + middle.T)[0] / 2
        if lowest > 10 * n * _EPS * spread * np.linalg.norm(middle):
            return max(smallest, 0.0), True
    # An eigenvalue moves by its condition number times the rounding error of A, and by about the
    # square root of that error where two of them meet and the condition has no bound.
    error = 10 * n * _EPS
    try:
        conditions = np.linalg.norm(np.linalg.inv(vectors), axis=1)
    except np.linalg.LinAlgError:
        conditions = np.full(n, np.inf)
    doubt = error * np.minimum(conditions, error**-0.5) * np.linalg.norm(matrix)
    if np.any(parts < -doubt):
        return smallest, False
    if np.all(parts > doubt):
        return smallest, True
    return 0.0, None


def _verdict(method: str, matrix: str, whole: float, moving: float, stable: bool | None) -> str:
    """One sentence on one method."""
    found = f"the smallest real part of an eigenvalue of {matrix} is {whole:.6g}"
    if stable:
        rest = "" if moving == whole else f" ({moving:.6g} along the directions that updates move)"
        return f"{method} is stable: {found}{rest}, so its expected updates contract."
    if stable is None:
        return f"{method} is undecided: {found} within rounding, so some weights need not settle."
    return f"{method} is unstable: {found}, so some weights grow without bound."
