"""What a model's endpoint may send, and whither it may lead."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from threading import Thread

import pytest

from moechat.ai.chat_model import ChatRequest, OpenAIChatModel
from moechat.ai.embedding.endpoint import EndpointEmbedder
from moechat.ai.failure import Failure
from moechat.ai.wire import MOST_JSON, MOST_STREAMED
from moechat.errors import EmbeddingError
from moechat.model import Message
from tests.model_server import LocalServer, ModelServer, Raw, Refuse

ASKED = [Message("user", "你好")]
KEY = "sk-very-secret-0123456789"
MB = 1024 * 1024
Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def endpoint(answer: Answer) -> Iterator[str]:
    """An endpoint that answers every POST in its own way."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"] or 0))
            self.close_connection = True
            with suppress(OSError):  # The client hung up: that is what is tested.
                answer(self)

        do_GET = do_POST

    with LocalServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def without_end(piece: bytes, content_type: str, *, status: int = 200, begin: bytes = b"") -> Answer:
    """An answer that goes on for ever."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("content-type", content_type)
        handler.end_headers()
        handler.wfile.write(begin)
        while True:
            handler.wfile.write(piece)

    return answer


def failed(url: str, *, whole: bool = False) -> Failure:
    model = OpenAIChatModel(url, "tiny", KEY, max_retries=0, timeout_s=60)
    with pytest.raises(Failure) as failure:
        _ = model.complete(ASKED, timeout_s=60) if whole else "".join(model.stream(ChatRequest(ASKED)))
    assert KEY not in str(failure.value)
    return failure.value


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (without_end(b"x" * 65536, "text/event-stream", begin=b"data: "), False),  # a line that does not end
        (without_end(b"data: " + b"[" * 300_000 + b"\n\n", "text/event-stream"), False),
        (without_end(b" " * 65536, "application/json"), True),
        (without_end(b" " * 65536, "application/json"), False),
        (without_end(b"x" * 65536, "text/plain", status=500), True),
        (without_end(b"x" * 65536, "text/event-stream", status=500), False),
    ],
)
def test_an_answer_without_end_is_cut_and_costs_little_memory(answer: Answer, whole: bool) -> None:
    with endpoint(answer) as url:
        failed(url, whole=True)  # The client library is loaded.
        tracemalloc.start()
        failure = failed(url, whole=whole)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert failure.saying == "too_much"
    assert peak < 4 * MOST_STREAMED


def test_thoughts_without_end_are_cut() -> None:
    thought = b'data: {"choices": [{"index": 0, "delta": {"reasoning_content": "%s"}}]}\n\n' % (b"hm" * 100_000)
    with endpoint(without_end(thought, "text/event-stream")) as url:
        assert failed(url).saying == "too_much"


def test_a_packed_answer_is_refused_unread() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        assert handler.headers["accept-encoding"] == "identity"
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-encoding", "gzip")
        handler.end_headers()
        handler.wfile.write(b"\x1f\x8b")

    with endpoint(answer) as url:
        assert failed(url, whole=True).kind == "nonsense"


def test_an_answer_that_drips_keeps_the_time_of_the_whole_call() -> None:
    model_server = without_end(b" ", "application/json")
    with endpoint(model_server) as url, pytest.raises(Failure) as failure:
        OpenAIChatModel(url, "tiny", KEY, max_retries=0).complete(ASKED, timeout_s=0.2)
    assert failure.value.kind in ("timeout", "nonsense")


@pytest.mark.parametrize(
    "body",
    [
        "[" * 200_000, '{"choices": ' + "[" * 100_000, '{"choices": 5}', '{"choices": [5]}', '{"choices": {"0": 1}}',
        '{"choices": [{"message": 5}]}', '{"choices": [{"message": {"content": {"a": 1}}}]}', '{"choices": [{"message": null}]}',
        '{"id": ' + "9" * 5000 + "}", '{"error": ' * 2000 + "1" + "}" * 2000, '{"error": {"code": "²", "message": "no"}}',
        '{"error": {"code": "' + "9" * 5000 + '"}}', '{"error": {"message": "' + "model" * 100_000 + '"}}', "null", '"text"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
def test_an_answer_of_a_hostile_shape_is_a_failure_in_words(body: str, content_type: str) -> None:
    text = f"data: {body}\n\n" if content_type == "text/event-stream" else body
    with ModelServer(otherwise=Raw(text, content_type)) as server:
        failures = [failed(server.url), failed(server.url, whole=True)]
    assert all(len(str(failure)) < 500 and "\n" not in str(failure) for failure in failures)


def test_a_list_of_models_has_a_bound() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = (
            b'{"data": [' + b", ".join(b'{"id": "%d%s"}' % (n, b"x" * 500) for n in range(3000)) + b', {"id": 5}, 6]}'
        )
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with endpoint(answer) as url:
        names = OpenAIChatModel(url, "tiny", KEY).models()
    assert (len(names), max(map(len, names))) == (1000, 200)


# ---- redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("whole", [True, False])
def test_a_redirect_to_another_address_is_not_followed(status: int, whole: bool) -> None:
    with ModelServer() as other:
        redirect = Refuse(status, headers={"location": f"{other.url}/chat/completions"})
        with ModelServer(otherwise=redirect) as server:
            failure = failed(server.url, whole=whole)
        assert (failure.saying, failure.kind) == ("redirected", "no_route")
        assert other.requests == []


def test_a_redirect_within_the_service_is_followed() -> None:
    with ModelServer() as server:
        moved = Refuse(307, headers={"location": f"{server.url}/chat/completions"})
        acts = iter([moved])
        server.script = lambda _: next(acts, None) or server.otherwise  # type: ignore[return-value]
        model = OpenAIChatModel(server.url, "tiny", KEY, max_retries=0)
        assert "".join(model.stream(ChatRequest(ASKED))) == "好的。"


def test_texts_to_embed_follow_no_redirect_either() -> None:
    with ModelServer() as other:

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(307)
            handler.send_header("location", f"{other.url}/embeddings")
            handler.send_header("content-length", "0")
            handler.end_headers()

        with endpoint(answer) as url, pytest.raises(EmbeddingError):
            EndpointEmbedder(url, "tiny", KEY, dim=4, timeout_s=60).embed(["你好"])
        assert other.requests == []


def test_the_bounds_leave_room_for_long_replies() -> None:
    text = "好" * (MOST_JSON // 8)
    with ModelServer([text], streams=False) as server:
        model = OpenAIChatModel(server.url, "tiny", KEY)
        assert "".join(model.stream(ChatRequest(ASKED))) == text
