"""Web search: engines, fetching, pages, recordings, and a local web to try them on."""
