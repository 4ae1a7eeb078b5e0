"""Self-RAG (arXiv 2310.11511): decoding with reflection tokens, for any causal LM that knows them."""
