"""Sessions recorded and replayed."""

import pytest
from fakes import make_profile

from crag.setup import make_rewriter, open_web
from crag.web.recording import CHUNK, RecordingWeb, ReplayWeb
from crag.web.types import Page, SearchOutcome, SearchResult
from rag.errors import RagError
from rag.profile import WebSettings
from rag.setup import Setup


class NumberedWeb:
    """Numbers its answers, so that a repeated question gets another one; fails for "bad"; pages come in reverse."""

    def __init__(self):
        self.asked = []

    def search(self, queries):
        return [self._outcome(query) for query in queries]

    def _outcome(self, query):
        self.asked.append(query)
        if query == "bad":
            return SearchOutcome(query, error="the server answered 500")
        return SearchOutcome(query, (SearchResult(f"http://web/{query}/{len(self.asked)}", "Zoë\u2028\n“x”"),))

    def read(self, urls):
        return {url: Page(url, "T", (f"line\none of {url}", "\u2029")) for url in reversed(urls)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "session.jsonl"


def test_a_session_is_replayed_as_it_was(path):
    web = RecordingWeb(NumberedWeb(), path)
    outcomes = web.search(["one", "bad", "two"])
    pages = web.read(["http://a", "http://b", "http://a"])
    replay = ReplayWeb(path)
    assert replay.search(["one", "bad", "two"]) == outcomes
    assert replay.search(["two", "one"]) == [outcomes[2], outcomes[0]]
    assert replay.read(["http://b", "http://a"]) == pages
    assert pages["http://a"].paragraphs[0] == "line\none of http://a" and list(pages) == ["http://a", "http://b"]
    assert len(path.read_bytes().splitlines()) == 5


def test_what_was_not_recorded_is_named(path):
    RecordingWeb(NumberedWeb(), path).search(["one"])
    with pytest.raises(RagError, match=r"query 'two' is not in .*session\.jsonl: record it"):
        ReplayWeb(path).search(["one", "two"])
    with pytest.raises(RagError, match="page 'http://a' is not in"):
        ReplayWeb(path).read(["http://a"])


def test_a_killed_recording_is_good_to_its_last_whole_line(path):
    RecordingWeb(NumberedWeb(), path).search(["one", "two"])
    whole = path.read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:cut])
        replay = ReplayWeb(path)
        assert list(replay.outcomes) == ["one"]
    outcomes = RecordingWeb(NumberedWeb(), path).search(["three"])  # goes on after the last whole line
    assert ReplayWeb(path).search(["three"]) == outcomes
    assert list(ReplayWeb(path).outcomes) == ["one", "three"]


def test_a_failing_web_loses_one_chunk_at_most(path):
    class Dying(NumberedWeb):
        def search(self, queries):
            if len(self.asked) >= 2 * CHUNK:
                raise KeyboardInterrupt
            return super().search(queries)

    with pytest.raises(KeyboardInterrupt):
        RecordingWeb(Dying(), path).search([str(i) for i in range(3 * CHUNK)])
    assert list(ReplayWeb(path).outcomes) == [str(i) for i in range(2 * CHUNK)]


def test_the_last_of_several_answers_counts(path):
    web = NumberedWeb()
    first = RecordingWeb(web, path).search(["one"])
    second = RecordingWeb(web, path).search(["one"])
    assert first != second and ReplayWeb(path).search(["one"]) == second


@pytest.mark.parametrize(
    "line", ["{", "[]", "", '{"url": 7}', '{"query": "q", "results": [{"url": "x"}]}', "\udcff", '{"title": "neither"}']
)
def test_a_damaged_line_is_named(path, line):
    RecordingWeb(NumberedWeb(), path).search(["one", "two"])
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], line.encode(errors="surrogateescape"), lines[1], b""]))
    with pytest.raises(RagError, match=r"session\.jsonl line 2 is damaged"):
        ReplayWeb(path)


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(RagError, match=r"cannot replay .*none\.jsonl .*web\.record"):
        ReplayWeb(tmp_path / "none.jsonl")
    with pytest.raises(RagError, match=r"cannot record to .*web\.record"):
        RecordingWeb(NumberedWeb(), tmp_path)


def setup_with(**web):
    return Setup(make_profile(web=WebSettings(**web)))


def test_a_profile_records_and_replays(articles, cache_folder):
    setup = setup_with(port=0, record="session.jsonl")
    setup.articles = articles
    with open_web(setup) as web:
        outcomes = web.search(["blue dye chemist"])
        urls = [result.url for result in outcomes[0].results]
        pages = web.read(urls)
    assert outcomes[0].results[0].title == "Ada Stone" and pages[urls[0]].title == "Ada Stone"
    assert (cache_folder / "web" / "session.jsonl").is_file()
    replay = setup_with(replay="session.jsonl")
    replay.articles = None  # no server is started
    with open_web(replay) as web:
        assert web.search(["blue dye chemist"]) == outcomes
        assert web.read(urls) == pages


def test_a_profile_names_engine_and_rewriter(monkeypatch, cache_folder):
    monkeypatch.setenv("SERPER_API_KEY", "abc")
    with open_web(setup_with(engine="serper", results=3, allow_private=True)) as remembering:
        web = remembering.web
        assert (web.engine.name, web.results, web.allow_private) == ("Serper", 3, True)
    with open_web(setup_with(url="http://localhost:1")) as remembering:
        web = remembering.web
        assert (web.engine.name, web.allow_private) == ("http://localhost:1", False)
    kinds = [type(make_rewriter(setup_with(rewriter=kind))).__name__ for kind in ("rule", "none", "generator")]
    assert kinds == ["RuleRewriter", "NoRewriter", "GeneratorRewriter"]
    assert type(make_rewriter(setup_with())).__name__ == "RuleRewriter"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"url": "http://x", "engine": "ddgs"}, "url and engine exclude each other"),
        ({"record": "a", "replay": "b"}, "record and replay exclude each other"),
        ({"url": "localhost:8080"}, "String should match pattern"),
        ({"engine": "altavista"}, "Input should be 'serper', 'google' or 'ddgs'"),
        ({"results": 11}, "less than or equal to 10"),
    ],
)
def test_settings_that_contradict(settings, says):
    with pytest.raises(ValueError, match=says):
        WebSettings(**settings)
