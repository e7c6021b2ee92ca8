"""score@k: the expected best of k attempts, from n attempts, in closed form.

Both estimators are weighted sums of the sorted scores, so that a bootstrap is one sort and one
matrix product.

Source:
    Plug-in (k draws with replacement): Wijk et al. 2024, arXiv:2411.15114. Unbiased (without
    replacement): Chen et al. 2021, arXiv:2107.03374, for pass@k; here for any score.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Estimator = Literal["unbiased", "plug_in"]
Counts = Literal["best", "last"]


def plug_in_weights(n: int, k: int) -> FloatArray:
    """Weights of n sorted scores whose sum is the mean best of k draws with replacement.

    Biased downwards for small n; defined for any k.

    Returns:
        (n,), float64, for scores sorted from worst to best: (i/n)^k - ((i-1)/n)^k.

    Example:
        >>> plug_in_weights(2, 2).tolist()
        [0.25, 0.75]
    """
    _check(n, k)
    return np.diff((np.arange(n + 1) / n) ** k)


def unbiased_weights(n: int, k: int) -> FloatArray:
    """Weights of n sorted scores whose sum is the mean best over all subsets of size k.

    Returns:
        (n,), float64, for scores sorted from worst to best: C(i-1, k-1) / C(n, k).

    Raises:
        ValueError: k > n: no attempt is drawn twice.

    Example:
        >>> unbiased_weights(3, 2).round(4).tolist()
        [0.0, 0.3333, 0.6667]
    """
    _check(n, k)
    if k > n:
        raise ValueError(f"the best of {k} attempts has no unbiased estimate from {n}")
    ranks = np.arange(n, 1, -1)  # from the best down; C(i-2, k-1) / C(i-1, k-1) = (i-k) / (i-1)
    steps = np.maximum(ranks - k, 0) / (ranks - 1)
    return (k / n * np.cumprod(np.concatenate([[1.0], steps])))[::-1]


def weights(n: int, k: int, estimator: Estimator, counts: Counts = "best") -> FloatArray:
    """Weights of n sorted scores for score@k.

    Where the last answer of an attempt counts and is never shown, nobody can pick the best
    attempt, so that score@k is the plain mean for any k.

    Args:
        n: Attempts there are.
        k: Attempts that the budget pays for.
        estimator: "unbiased" falls back on plug-in where k > n.
        counts: Which entry is an attempt's score.

    Returns:
        (n,), float64, for scores sorted from worst to best.
    """
    if counts == "last":
        return np.full(n, 1 / n)
    if estimator == "unbiased" and k <= n:
        return unbiased_weights(n, k)
    return plug_in_weights(n, k)


def score_at_k(
    scores: FloatArray, k: int, estimator: Estimator = "unbiased", counts: Counts = "best"
) -> float:
    """Estimate the mean best score of k attempts from n attempts.

    Args:
        scores: (n,), float64: final scores of n attempts with the same budget, any order.
        k: Attempts that the budget pays for.
        estimator: "unbiased" falls back on plug-in where k > n.
        counts: "last" gives the plain mean.

    Example:
        >>> round(score_at_k(np.array([1.0, 0.0, 0.5]), k=2), 4)
        0.8333
        >>> round(score_at_k(np.array([1.0, 0.0, 0.5]), k=2, estimator="plug_in"), 4)
        0.7222
    """
    return float(np.sort(scores) @ weights(len(scores), k, estimator, counts))


def _check(n: int, k: int) -> None:
    if n < 1 or k < 1:
        raise ValueError(f"score@k needs attempts and a k of at least 1; got n={n}, k={k}")
