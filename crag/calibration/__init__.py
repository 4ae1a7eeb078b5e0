"""Calibration of the evaluator: thresholds that are fitted instead of set by hand, and scores as probabilities."""
