"""Diversify, verify, adapt (DIVA, arXiv 2409.02361)."""
