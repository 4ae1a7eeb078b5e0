"""Corrective retrieval-augmented generation (CRAG, arXiv 2401.15884)."""
