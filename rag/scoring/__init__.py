"""The shared scoring utilities."""
