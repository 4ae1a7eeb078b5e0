"""Evaluator scores as probabilities: are they calibrated, and do standard maps make them so?

A score s in [-1, 1] stands for the probability (s + 1) / 2; since s = tanh(z / 2), that is sigmoid(z). A map that rises
with the score changes no action when the thresholds are mapped along: calibration gives the scores a meaning, not CRAG
other decisions. (On a flat step of the isotonic map scores that were apart become one.)
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss

from crag.calibration.data import CalibrationData, checked_passages, need_both_kinds
from crag.evaluator import DECIMALS

BINS = 15
MAPS = {"temperature": "temperature", "platt": "sigmoid", "isotonic": "isotonic"}
FOLDS = 2  # scikit-learn always splits; as the evaluator is trained already, that changes nothing
# A rounded score of ±1 may have been as far from it as half a step: without this its logit were infinite.
SMALLEST = 10.0**-DECIMALS / 4


class _Logit(ClassifierMixin, BaseEstimator):
    """The evaluator as a scikit-learn classifier, trained already: its decision function is the logit."""

    def fit(self, logits: np.ndarray, relevant: np.ndarray) -> "_Logit":
        self.classes_ = np.unique(relevant)
        return self

    def decision_function(self, logits: np.ndarray) -> np.ndarray:
        return logits[:, 0]

    def predict(self, logits: np.ndarray) -> np.ndarray:
        return self.classes_[(self.decision_function(logits) > 0).astype(int)]


def reliability(probabilities: np.ndarray, relevant: np.ndarray) -> pd.DataFrame:
    """The reliability diagram as a table: one row a bin that holds anything, columns predicted, observed, n.

    Fifteen bins of equal width over [0, 1] of the probability of relevance: unlike bins of equal mass they don't split
    equal scores. `predicted` is the mean probability, `observed` the share that is relevant.
    """
    bins = np.minimum((np.asarray(probabilities) * BINS).astype(int), BINS - 1)
    values = pd.DataFrame({"predicted": probabilities, "observed": np.asarray(relevant, dtype=float)})
    table = values.groupby(bins).agg(
        predicted=("predicted", "mean"), observed=("observed", "mean"), n=("observed", "size")
    )
    return table.reset_index(drop=True)


def expected_calibration_error(probabilities: np.ndarray, relevant: np.ndarray) -> float:
    """ECE: mean distance of predicted and observed over the bins of `reliability`, weighted by their sizes
    (Naeini et al. 2015; fifteen bins as in Guo et al. 2017)."""
    bins = reliability(probabilities, relevant)
    return float(np.average((bins["predicted"] - bins["observed"]).abs(), weights=bins["n"]))


def calibrated_probabilities(
    dev_scores: Sequence[float], dev_labels: Sequence[float], scores: Sequence[float]
) -> dict[str, np.ndarray]:
    """Probabilities of relevance for passage scores, by map: none, and three fitted on development scores, labels ±1.

    Temperature divides the logit by a constant (Guo et al. 2017), Platt scaling maps it by a line (Platt 1999, with his
    smoothed targets), isotonic regression by any steps that don't fall (Zadrozny and Elkan 2002).
    """
    dev_scores, truth = checked_passages(dev_scores, dev_labels)
    need_both_kinds(truth, "score maps", least=FOLDS)
    dev_logits, logits = _logits(dev_scores), _logits(scores)
    probabilities = {"none": (np.asarray(scores, dtype=float) + 1) / 2}
    for name, method in MAPS.items():
        model = CalibratedClassifierCV(_Logit(), method=method, ensemble=False, cv=FOLDS).fit(dev_logits, truth)
        probabilities[name] = model.predict_proba(logits)[:, 1]
    return probabilities


def score_calibration(dev: CalibrationData, test: CalibrationData) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well calibrated the passages' scores are on test under each map; the maps are fitted on dev.

    A table with columns map, ece, brier, n, and the bins of all reliability diagrams: map, predicted, observed, n.
    """
    truth = checked_passages(test.passage_scores, test.passage_labels)[1]
    mapped = calibrated_probabilities(dev.passage_scores, dev.passage_labels, test.passage_scores)
    table, bins = [], []
    for name, probabilities in mapped.items():
        ece = expected_calibration_error(probabilities, truth)
        table.append({"map": name, "ece": ece, "brier": brier_score_loss(truth, probabilities), "n": len(truth)})
        bins.append(reliability(probabilities, truth).assign(map=name))
    return pd.DataFrame(table), pd.concat(bins, ignore_index=True)[["map", "predicted", "observed", "n"]]


def _logits(scores: Sequence[float]) -> np.ndarray:
    """Scores as one column of logits."""
    return logit(np.clip((np.asarray(scores, dtype=float) + 1) / 2, SMALLEST, 1 - SMALLEST))[:, None]
