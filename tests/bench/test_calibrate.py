"""calibrate: thresholds by the model's fingerprint, weights on a grid, from pairs that are labelled or the owner's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from moechat.ai.embedding import HashEmbedder
from moechat.bench import calibrate
from moechat.bench.calibrate import LabelledPair
from moechat.cli.main import main
from moechat.encoder.builtin import builtin
from moechat.errors import DataError
from moechat.reading import answers
from moechat.settings import config
from tests.houses import CHARACTER, Home, imported

THINGS = ("鹦鹉", "火锅", "吉他", "雨伞", "围巾", "露营", "小说", "键盘", "咖啡", "蛋糕", "石头", "电影")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path, embedding={"provider": "hash"})


def talked(home: Home) -> None:
    """Twelve exchanges, each reply taking up the words of its message."""
    imported(
        home.store(),
        *(
            (f"2025-05-{i + 1:02}T20:00:00", f"我今天买了{thing}，很高兴", f"买了{thing}呀，{thing}真不错")
            for i, thing in enumerate(THINGS)
        ),
    )


def pairs(worst: list[float], good: list[float]) -> tuple[list[LabelledPair], np.ndarray]:
    """One question each with one right and one wrong text, and their scores."""
    made = [
        [LabelledPair(f"q{i}", f"right {i}", True), LabelledPair(f"q{i}", f"wrong {i}", False)]
        for i in range(len(worst))
    ]
    scores = [value for both in zip(good, worst, strict=True) for value in both]
    return [pair for both in made for pair in both], np.array(scores)


def test_the_threshold_is_the_lowest_that_meets_the_target() -> None:
    made, scores = pairs([i / 20 for i in range(20)], [0.8] * 20)
    fit = calibrate.threshold(made, scores, target=0.25, before=0.5)
    assert fit is not None
    assert 0.70 < fit.threshold <= 0.705  # 0.75 and above: five of twenty
    assert (fit.false, fit.kept, fit.before) == (0.25, 1.0, 0.5)


def test_too_few_questions_fit_no_threshold() -> None:
    made, scores = pairs([0.1] * 5, [0.8] * 5)
    assert calibrate.threshold(made, scores, target=0.5, before=0.5) is None


def test_the_diary_is_fitted_to_questions_that_lie_where_their_answers_do() -> None:
    pair = LabelledPair("我养的猫叫什么？", "我家猫叫团子", True)
    plain, of_diary = calibrate.scores([pair, pair], builtin())
    asked, told = builtin().embed([pair.query], "query"), builtin().embed([pair.text])
    assert plain == pytest.approx([float(asked[0] @ told[0])] * 2)
    assert of_diary == pytest.approx([float(answers.load().as_told(asked)[0] @ told[0])] * 2)
    assert of_diary[0] != plain[0]
    assert np.array_equal(*calibrate.scores([pair], HashEmbedder())), "for no other model was it learned"


def aged(relevant_is: str) -> tuple[list[LabelledPair], np.ndarray]:
    """Twelve questions of four texts, of which the right one alone stands out in one respect."""
    made, scores = [], []
    for i in range(12):
        for j in range(4):
            best = j == i % 4
            made.append(
                LabelledPair(
                    f"q{i}", f"t{i}.{j}", best,
                    age_hours=1.0 if best and relevant_is == "recency" else 10.0 + (j * 7 + i) % 5,
                    importance=0.9 if best and relevant_is == "importance" else 0.1 + (j * 3 + i) % 4 / 10,
                )
            )  # fmt: skip
            scores.append(0.9 if best and relevant_is == "relevance" else 0.3 + (j * 5 + i) % 3 / 10)
    return made, np.array(scores)


@pytest.mark.parametrize("name", ["recency", "relevance", "importance"])
def test_the_weights_follow_what_tells_right_from_wrong(name: str) -> None:
    now = {"recency": 1.0, "relevance": 1.0, "importance": 1.0}
    found = calibrate.weights(*aged(name), now)
    assert found is not None
    assert found.mrr == 1.0 >= found.mrr_before
    assert getattr(found, name) == max(found.recency, found.relevance, found.importance)
    assert found.recency + found.relevance + found.importance == pytest.approx(1)


def test_own_memory_gives_the_same_pairs_every_time(home: Home) -> None:
    talked(home)
    with home.open() as house:
        agent = house.agent()
        made = calibrate.own_pairs(agent)
        assert made == calibrate.own_pairs(agent)
    diary = [pair for pair in made if pair.layer == "diary"]
    assert sum(pair.relevant for pair in diary) == len(THINGS)
    assert all(pair.age_hours is not None and pair.age_hours > 0 for pair in diary)


def test_what_is_fitted_serves_that_model_alone(home: Home) -> None:
    talked(home)
    with home.open() as house:
        agent = house.agent()
        agent.finish()
        made = calibrate.calibrate(agent, calibrate.own_pairs(agent))
        assert [fit.layer for fit in made.fits] == ["diary"]
        assert any(text.startswith("core") for text in made.lacking)
        calibrate.write(home.config, agent, made)
        fitted = made.fits[0].threshold
    with home.open() as house:
        agent = house.agent()
        assert agent.layers.recipes.threshold("events") == fitted
        assert agent.layers.recipes.threshold("profile") == home.embedder.thresholds.core
    home.embedder = HashEmbedder(home.embedder.dim * 2)
    with home.open() as house:
        agent = house.agent()
        agent.settle_indexes()
        assert agent.dense.serving is not None
        if agent.dense.serving.fingerprint == home.embedder.fingerprint:
            assert agent.layers.recipes.threshold("events") == home.embedder.thresholds.diary


def test_the_command_reads_pairs_reports_and_writes(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"query": f"{thing}在哪里", "text": f"{other}在桌上", "relevant": thing == other, "layer": "core"}
        for thing in THINGS
        for other in THINGS
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    where = ["--data", str(home.data), "--config", str(home.config), "-c", CHARACTER]
    assert main(["calibrate", "--pairs", str(file), *where]) == 0
    told = capsys.readouterr().out
    assert "core: threshold" in told
    assert "turns with false recall" in told
    assert config.load(home.config).embedding.fitted == {}

    assert main(["calibrate", "--pairs", str(file), "--write", "--json", *where]) == 0
    made = json.loads(capsys.readouterr().out)
    saved = config.load(home.config).embedding.fitted[made["fingerprint"]]
    assert saved.core == pytest.approx(made["thresholds"]["core"]["threshold"])
    assert made["weights"] is None


@pytest.mark.parametrize(
    "line", ['{"query": "a", "text": "b"}', '{"query": "a", "text": "b", "relevant": true, "layer": "x"}', "["]
)
def test_a_bad_pair_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(DataError) as error:
        calibrate.read(file)
    assert error.value.line == 2
