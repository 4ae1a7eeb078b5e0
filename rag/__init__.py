"""The substrate both methods stand on: data, retrieval, generation, scoring, results."""

import os

# PyTorch reads this on its first allocation. Without huge pages, fresh memory for every large tensor costs more time than the
# arithmetic on some machines (seen: four times the wall time, 130 times the page faults).
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
