"""Pruning of the candidate passages (DIVA §3.1)."""

import numpy as np

KEEP = 5
# Rounded so that the last bits, which vary with the shape of an encoder's batch, can't decide between passages.
DECIMALS = 4


def prune(scores: np.ndarray, keep: int = KEEP) -> list[int]:
    """Indices of the `keep` passages with the highest S(p), best first, of the scores of all, shape (m,).

    A passage that serves one wrong interpretation scores low on the others, and one that serves none scores low on all.
    Equal scores keep the passages' order.
    """
    return np.argsort(-scores, kind="stable")[:keep].tolist()


def mean_cosines(interpretations: np.ndarray, passages: np.ndarray) -> np.ndarray:
    """S(p) of each passage, its mean cosine to all interpretations, shape (m,), to four decimals.

    `interpretations` has shape (n, d) and `passages` (m, d); rows need not be of unit length.
    """
    return (_unit(passages) @ _unit(interpretations).mean(axis=0)).astype(float).round(DECIMALS)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
