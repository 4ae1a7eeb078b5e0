"""DIVA's pruning, by hand."""

import numpy as np

from diva.pruning import mean_cosines, prune


def test_prune_by_hand():
    interpretations = np.array([[1.0, 0.0], [0.0, 2.0]])
    passages = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.0]])
    # Mean cosines: 0.5, 0.707, 0.5, -0.5; the tie keeps the order.
    assert prune(mean_cosines(interpretations, passages), keep=3) == [1, 0, 2]
    assert prune(mean_cosines(interpretations, passages), keep=9) == [1, 0, 2, 3]


def test_mean_cosines_by_hand():
    interpretations = np.array([[1.0, 0.0], [0.0, 2.0]])
    passages = np.array([[3.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])
    assert mean_cosines(interpretations, passages).tolist() == [0.5, 0.7071, -0.5]


def test_last_bits_do_not_decide():
    interpretations = np.array([[1.0, 0.0]])
    passages = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-6]])
    assert prune(mean_cosines(interpretations, passages), keep=1) == [0]
