"""Question sets: built by rule from the embedded encyclopedia, or read from a file or the hub."""
