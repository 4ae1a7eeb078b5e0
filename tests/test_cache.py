"""Stage results are kept by content, and a killed run loses nothing finished."""

import pytest

from rag.cache import CHUNK, Cache, NoCache, key_of

STAGE = {"stage": "double", "model": "m"}


def double(items):
    return [item * 2 for item in items]


def test_order_duplicates_and_second_call(tmp_path):
    cache = Cache(tmp_path / "c.sqlite")
    asked = []

    def compute(items):
        asked.extend(items)
        return double(items)

    assert cache.map(STAGE, ["b", "aaa", "b"], compute) == ["bb", "aaaaaa", "bb"]
    assert asked == ["aaa", "b"]  # longest first, equal items once
    assert cache.map(STAGE, ["aaa", "b", "c"], compute) == ["aaaaaa", "bb", "cc"]
    assert asked == ["aaa", "b", "c"]


def test_keys_hold_stage_model_and_parameters():
    keys = {
        key_of({"stage": "a", "model": "m"}, "query"),
        key_of({"stage": "b", "model": "m"}, "query"),
        key_of({"stage": "a", "model": "n"}, "query"),
        key_of({"stage": "a", "model": "m", "k": 1}, "query"),
        key_of({"stage": "a", "model": "m"}, ["query"]),
    }
    assert len(keys) == 5
    assert key_of({"x": 1, "y": 2}, "q") == key_of({"y": 2, "x": 1}, "q")


def test_a_killed_run_keeps_its_finished_chunks(tmp_path):
    cache = Cache(tmp_path / "c.sqlite")
    items = [f"{i:03}" for i in range(3 * CHUNK)]
    done = []

    def dies_in_the_third_chunk(chunk):
        if len(done) == 2 * CHUNK:
            raise KeyboardInterrupt
        done.extend(chunk)
        return double(chunk)

    with pytest.raises(KeyboardInterrupt):
        cache.map(STAGE, items, dies_in_the_third_chunk)
    again = []
    assert cache.map(STAGE, items, lambda chunk: again.extend(chunk) or double(chunk)) == double(items)
    assert sorted(done + again) == items


def test_a_wrong_number_of_results_is_refused(tmp_path):
    cache = Cache(tmp_path / "c.sqlite")
    with pytest.raises(ValueError, match="shorter"):
        cache.map(STAGE, ["a", "b"], lambda items: ["only one"])
    assert cache.map(STAGE, ["a"], double) == ["aa"]  # nothing of the bad chunk was kept


def test_without_a_cache_everything_is_computed_each_time(cache_folder):
    cache, asked = NoCache(), []

    def compute(items):
        asked.append(items)
        return double(items)

    assert cache.map(STAGE, ("b", "aaa", "b"), compute) == ["bb", "aaaaaa", "bb"]
    assert cache.map(STAGE, ["b"], compute) == ["bb"]
    assert asked == [["b", "aaa", "b"], ["b"]]
    assert cache.map(STAGE, [], compute) == [] and len(asked) == 2
    assert not cache_folder.exists()
