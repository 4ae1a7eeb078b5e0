"""Web search: a client for SearXNG-style search and for pages, and a local web to try it on."""
