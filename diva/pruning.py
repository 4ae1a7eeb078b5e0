"""Pruning of the candidate passages (DIVA §3.1)."""

import numpy as np

KEEP = 5


def prune(interpretations: np.ndarray, passages: np.ndarray, keep: int = KEEP) -> list[int]:
    """Indices of the `keep` passages with the highest mean cosine to all interpretations, best first.

    `interpretations` has shape (n, d) and `passages` (m, d); rows need not be of unit length. A passage that serves one
    wrong interpretation scores low on the others, and one that serves none scores low on all. Equal scores keep the
    passages' order.
    """
    scores = _unit(passages) @ _unit(interpretations).mean(axis=0)
    return np.argsort(-scores, kind="stable")[:keep].tolist()


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
