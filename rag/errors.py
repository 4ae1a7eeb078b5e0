"""The one exception that a user of the command line is meant to read."""


class RagError(Exception):
    """A problem that the user can mend. One line: what is wrong, and what to do about it."""
