"""The real embedded model, and an OpenAI-compatible server on loopback."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from rag.cache import Cache
from rag.errors import RagError
from rag.generation import CachedGenerator, LocalGenerator, OpenAIGenerator
from rag.prompts import answer_prompt, closed_book, open_book


@pytest.fixture(scope="module")
def model():
    return LocalGenerator(max_new_tokens=10, batch_size=3)


def test_completions_do_not_depend_on_the_batch(model):
    prompts = [
        closed_book("What is the capital of France?"),
        open_book("What colour is the harbour bell?", "Port Azure. The harbour bell is green. " * 6),
        "Say yes.",
        closed_book("Who wrote Hamlet?"),
    ]
    together = model.generate(prompts)
    alone = [model.generate([prompt])[0] for prompt in prompts]
    assert together == alone
    assert "Paris" in together[0].text
    assert "green" in together[1].text.lower()
    assert all(0 < completion.tokens <= 10 and "\n" not in completion.text for completion in together)
    assert together[1].prompt_tokens > together[2].prompt_tokens
    assert model.generate([]) == []


def test_an_overlong_prompt_is_refused(model):
    with pytest.raises(RagError, match="lower top_k"):
        model.generate(["word " * 9000])


def test_a_missing_model_folder_is_named(tmp_path):
    with pytest.raises(RagError, match="cannot load generator '.*nowhere'"):
        LocalGenerator(str(tmp_path / "nowhere")).generate(["x"])


@contextmanager
def server(reply, status=200):
    """An endpoint that sends one fixed reply; yields its address and the requests that it got."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/v1", seen
    finally:
        http.shutdown()
        http.server_close()


REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": " Rome "}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}


def test_openai_compatible_server():
    with server(REPLY) as (url, seen):
        completions = OpenAIGenerator(url, "m", max_new_tokens=5, seed=3).generate(["Where?", "Again?"])
    assert [(c.text, c.prompt_tokens, c.tokens) for c in completions] == [("Rome", 7, 2)] * 2
    path, body = next((path, body) for path, body in seen if "Where?" in str(body))
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Where?"}],
        "max_tokens": 5,
        "temperature": 0,
        "seed": 3,
        "stop": ["\n"],
    }


@pytest.mark.parametrize("reply", [{"error": "busy"}, {**REPLY, "choices": []}])
def test_an_error_body_under_status_200_is_no_answer(reply):
    with server(reply) as (url, _), pytest.raises(RagError, match="reply without text"):
        OpenAIGenerator(url, "m").generate(["Where?"])


def test_a_refusing_server_is_named():
    with (
        server({"error": {"message": "no such model"}}, status=404) as (url, _),
        pytest.raises(RagError, match="did not answer"),
    ):
        OpenAIGenerator(url, "m").generate(["Where?"])


def test_cached_generator_asks_once(tmp_path, echo):
    generator = CachedGenerator(echo, Cache(tmp_path / "c.sqlite"))
    assert generator.generate(["a\nb", "a\nb"])[1].text == "b"
    generator.generate(["a\nb"])
    assert echo.prompts == ["a\nb"]


def test_prompts_hold_question_and_text():
    assert "Who is it?" in closed_book("Who is it?")
    both = open_book("Who is it?", "Some text.")
    assert "Some text." in both and both.endswith("Who is it?")
    assert answer_prompt("Who?", "") == closed_book("Who?")
    assert answer_prompt("Who?", "x") == open_book("Who?", "x")
