"""Intervals and paired tests over questions."""

import numpy as np
from scipy import stats

from rag.errors import RagError


def bootstrap_interval(values: np.ndarray, samples: int, seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean of per-question scores, shape (n,). A constant gives itself twice."""
    values = np.asarray(values, dtype=float)
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    result = stats.bootstrap(
        (values,), np.mean, n_resamples=samples, method="percentile", rng=np.random.default_rng(seed), batch=1000
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def bootstrap_ratio(ours: np.ndarray, baseline: np.ndarray, samples: int, seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the ratio of means, baseline to ours, of paired per-question costs, shape (n,).

    Questions are drawn, each with both its costs. Constant costs give their ratio twice. Raises `RagError` where one of
    ours is not above zero: a draw could divide by zero.
    """
    ours, baseline = np.asarray(ours, dtype=float), np.asarray(baseline, dtype=float)
    if not (ours > 0).all():
        raise RagError(f"a ratio needs costs above zero, and the least of {len(ours)} is {ours.min()}: leave it out")
    if np.ptp(ours) == 0 and np.ptp(baseline) == 0:
        return float(baseline[0] / ours[0]), float(baseline[0] / ours[0])
    result = stats.bootstrap(
        (ours, baseline),
        lambda x, y, axis: np.mean(y, axis=axis) / np.mean(x, axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=samples,
        method="percentile",
        rng=np.random.default_rng(seed),
        batch=1000,
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def estimate(values: np.ndarray, samples: int, seed: int) -> dict[str, float]:
    """Mean, 95 % interval and number of per-question scores, as the columns that every table of results has."""
    low, high = bootstrap_interval(values, samples, seed)
    return {"value": np.mean(values), "ci_low": low, "ci_high": high, "n": len(values)}


def paired_test(ours: np.ndarray, baseline: np.ndarray, samples: int, seed: int) -> float:
    """Two-sided p of the mean difference of paired per-question scores, by random exchange within the pairs.

    Works alike for 0/1 and for graded scores. Equal scores throughout give 1.0, and so does a single pair:
    exchanged, it is as far apart.
    """
    ours, baseline = np.asarray(ours, dtype=float), np.asarray(baseline, dtype=float)
    if len(ours) == 1 or np.array_equal(ours, baseline):
        return 1.0
    result = stats.permutation_test(
        (ours, baseline),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=samples,
        vectorized=True,
        batch=1000,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)
