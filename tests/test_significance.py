"""Intervals and tests, against exact values."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from rag.errors import RagError
from rag.scoring.significance import bootstrap_interval, bootstrap_ratio, paired_test


def test_interval_of_a_share_is_the_binomial_one():
    values = np.array([1.0] * 60 + [0.0] * 40)
    low, high = bootstrap_interval(values, samples=20_000, seed=1)
    # The bootstrap distribution of a share is binomial(n, p) / n.
    assert low == pytest.approx(binom.ppf(0.025, 100, 0.6) / 100, abs=0.011)
    assert high == pytest.approx(binom.ppf(0.975, 100, 0.6) / 100, abs=0.011)


def test_interval_of_a_constant():
    assert bootstrap_interval(np.ones(5), samples=100, seed=0) == (1.0, 1.0)


def test_interval_of_a_ratio_of_two_questions_spans_its_draws():
    # Draws of two questions: the first twice, both, or the second twice; each end has a quarter of them.
    assert bootstrap_ratio([1.0, 3.0], [4.0, 3.0], samples=2000, seed=0) == (1.0, 4.0)


def test_a_ratio_is_paired():
    ours = np.array([1.0, 10.0, 100.0, 3.0])
    assert bootstrap_ratio(ours, 2 * ours, samples=500, seed=0) == (2.0, 2.0)


def test_interval_of_a_ratio_to_a_constant_is_that_of_the_mean():
    values = np.random.default_rng(0).random(60)
    low, high = bootstrap_interval(values, samples=5000, seed=1)
    assert bootstrap_ratio(np.full(60, 2.0), values, samples=5000, seed=2) == pytest.approx(
        (low / 2, high / 2), abs=0.01
    )


def test_interval_of_a_ratio_of_constants():
    assert bootstrap_ratio([2.0, 2.0], [3.0, 3.0], samples=100, seed=0) == (1.5, 1.5)
    assert bootstrap_ratio([2.0], [3.0], samples=100, seed=0) == (1.5, 1.5)


@pytest.mark.parametrize("ours", [[0.0, 0.0], [0.0, 5.0], [-1.0, 5.0]])
def test_a_ratio_to_nothing_is_refused(ours):
    with pytest.raises(RagError, match="needs costs above zero"):
        bootstrap_ratio(ours, [1.0, 1.0], samples=100, seed=0)


def test_paired_test_on_binary_scores_is_the_exact_sign_test():
    # 12 pairs differ, 10 of them in our favour: McNemar's exact p.
    ours = np.array([1.0] * 10 + [0.0] * 2 + [1.0] * 20)
    other = np.array([0.0] * 10 + [1.0] * 2 + [1.0] * 20)
    expected = binomtest(10, 12).pvalue
    assert paired_test(ours, other, samples=50_000, seed=3) == pytest.approx(expected, abs=0.005)


def test_paired_test_of_equal_scores():
    assert paired_test(np.ones(4), np.ones(4), samples=100, seed=0) == 1.0


def test_paired_test_of_a_single_pair():
    assert paired_test([1.0], [0.0], samples=100, seed=0) == 1.0


def test_same_seed_same_numbers():
    rng = np.random.default_rng(0)
    ours, other = rng.random(50), rng.random(50)
    assert paired_test(ours, other, 500, 7) == paired_test(ours, other, 500, 7)
    assert bootstrap_interval(ours, 500, 7) == bootstrap_interval(ours, 500, 7)
