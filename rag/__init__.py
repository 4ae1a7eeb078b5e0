"""The substrate both methods stand on: data, retrieval, generation, scoring, results."""
