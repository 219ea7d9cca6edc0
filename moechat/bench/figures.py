"""The figures of ``moechat bench recall``: of a file and of a kind of talk, over all kinds, and against an earlier run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from moechat.bench import dataset
from moechat.bench.dataset import Haystack, Question
from moechat.errors import DataError

Figures = dict[str, Any]
Sort = Literal["own", "pairs", "strangers", "renamed", "small_talk"]
FOREIGN: tuple[Sort, ...] = ("strangers", "renamed", "small_talk")
DEPTHS = (5, 10, 20)
FOUND = (*(f"recall@{depth}" for depth in DEPTHS), "mrr", "evidence_injected")
NAMES_DATE = "names_date"
BOOTSTRAP_DRAWS = 2000
SURE = (0.025, 0.975)
LARGER_IS_BETTER = frozenset(FOUND)


@dataclass(frozen=True)
class Outcome:
    """What recall gave for one question. ``ranked`` and ``injected`` are message ids: the whole order, best first, and what
    entered the prompt (both sides of an exchange). ``diary`` and ``facts`` are how many memories entered it, without the
    facts that come by rule; ``tokens`` are those of all that did."""

    question: Question
    ranked: list[str]
    injected: frozenset[str]
    timing_ms: Mapping[str, float]
    diary: int = 0
    facts: int = 0
    tokens: int = 0
    embedding_ms: float = 0.0
    sort: Sort = "own"
    """Whose question it is: this haystack's own, or of a sort that nothing in it belongs to."""
    haystack: Haystack = field(default_factory=lambda: Haystack(""))

    @property
    def values(self) -> dict[str, float]:
        """The figures of this question by itself, which means are made of."""
        question = self.question
        if self.sort in FOREIGN:
            anything = bool(self.diary or self.facts)
            return {"diary": bool(self.diary), "facts": bool(self.facts), "any": anything, "tokens": self.tokens}
        if not question.answerable:
            return {"false_recall": bool(self.diary)}
        if not question.evidence:
            return {}
        return {f"recall@{k}": dataset.share_found(question.evidence, self.ranked[:k]) for k in DEPTHS} | {
            "mrr": dataset.reciprocal_rank(question.evidence, self.ranked),
            "evidence_injected": dataset.share_found(question.evidence, self.injected),
            "tokens": self.tokens,
        }


def of_question(outcome: Outcome) -> Figures:
    """The row of one question, which a later run is compared with."""
    row: Figures = {"kind": outcome.haystack.kind, "haystack": outcome.haystack.name, "sort": outcome.sort}
    row |= {"id": outcome.question.id, "values": {k: round(float(v), 4) for k, v in outcome.values.items()}}
    return row | ({"ranked": outcome.ranked} if outcome.sort == "own" else {})


def summary(outcomes: Sequence[Outcome]) -> Figures:
    """The figures of some questions, those of strangers apart. Recall is over answerable questions with evidence, false recall
    over the others."""
    own = [outcome for outcome in outcomes if outcome.sort == "own"]
    counted = [outcome for outcome in own if outcome.question.counts]
    groups: dict[str, list[Outcome]] = {}
    for outcome in counted:
        groups.setdefault(outcome.question.category, []).append(outcome)
        if outcome.question.names_date:
            groups.setdefault(NAMES_DATE, []).append(outcome)
    wrong = [outcome for outcome in own if not outcome.question.answerable]
    return {
        **found_again(counted),
        "injected_of_10": _share(counted),
        "messages_injected": _mean(len(outcome.injected) for outcome in counted),
        "tokens": _spread([outcome.tokens for outcome in counted]),
        "by": {name: found_again(group) for name, group in sorted(groups.items())},
        "pairs": found_again([outcome for outcome in outcomes if outcome.sort == "pairs"]),
        "unanswerable": len(wrong),
        "false_recall": _mean(bool(outcome.diary) for outcome in wrong),
        **{sort: _brought([one for one in outcomes if one.sort == sort]) for sort in FOREIGN},
        **times(own),
    }


def found_again(outcomes: Sequence[Outcome]) -> Figures:
    """{questions, recall@5, @10, @20, mrr, evidence_injected} over message ids."""
    rows = [outcome.values for outcome in outcomes]
    return {"questions": len(outcomes), **{name: _mean(row[name] for row in rows) for name in FOUND}}


def _share(outcomes: Sequence[Outcome]) -> float | None:
    """The evidence in the prompt over that in the first ten."""
    rows = [outcome.values for outcome in outcomes]
    first_ten = sum(row["recall@10"] for row in rows)
    return round(sum(row["evidence_injected"] for row in rows) / first_ten, 4) if first_ten else None


def _brought(outcomes: Sequence[Outcome]) -> Figures:
    """Shares of the turns in which anything of the diary, any fact, and anything at all was brought; tokens of a turn."""
    rows = [outcome.values for outcome in outcomes]
    shares = {name: _mean(row[name] for row in rows) for name in ("diary", "facts", "any")}
    return {"questions": len(rows), **shares, "tokens": _spread([row["tokens"] for row in rows])}


def times(outcomes: Sequence[Outcome]) -> Figures:
    """Milliseconds, embedding apart: in all, and [p50, p95] of each stage and recipe."""
    stages: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.timing_ms.items():
            stages.setdefault(name, []).append(value)
    stages["embedding"] = [outcome.embedding_ms for outcome in outcomes]
    spread = {name: _spread(values) for name, values in stages.items() if values}
    p50, p95 = spread.pop("total", [0.0, 0.0])
    return {"p50_ms": p50, "p95_ms": p95, "stages_ms": spread}


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return round(statistics.fmean(values), 4) if values else None


def _spread(values: Sequence[float]) -> list[float]:
    """[p50, p95]."""
    return [round(float(np.quantile(values, share)), 3) if values else 0.0 for share in (0.5, 0.95)]


def by_kind(kinds: Mapping[str, Sequence[Outcome]]) -> list[Figures]:
    """A row a kind of talk, and the mean of the kinds with the worst one beside each figure."""
    rows = [{"kind": kind, **summary(outcomes)} for kind, outcomes in kinds.items()]
    heads = {row["kind"]: _head(row) for row in rows}
    over_all: dict[str, Figures] = {}
    for name in dict.fromkeys(name for head in heads.values() for name in head):
        values = {kind: value for kind, head in heads.items() if (value := head[name]) is not None}
        if values:
            best = -1 if name.removeprefix("pairs ") in {*LARGER_IS_BETTER, "injected_of_10"} else 1
            worst = max(values, key=lambda kind: best * values[kind])
            over_all[name] = {"mean": _mean(values.values()), "worst": values[worst], "kind": worst}
    return [*rows, {"kinds": len(rows), **over_all}]


def _head(row: Figures) -> dict[str, float | None]:
    """The figures of a row by which kinds are compared."""
    head = {name: row[name] for name in (*FOUND, "injected_of_10")}
    head |= {f"pairs {name}": row["pairs"][name] for name in FOUND}
    head |= {f"{sort} {name}": row[sort][name] for sort in FOREIGN for name in ("diary", "facts", "any")}
    return head | {"tokens p50": row["tokens"][0], "tokens p95": row["tokens"][1], "ms p50": row["p50_ms"]}


# ---- against an earlier run


def read(path: Path) -> list[Figures]:
    """The rows of the questions of an earlier run with --json. Raises DataError where it has none."""
    rows = [dict(row) for _, row in dataset.rows_of(path) if "values" in row]
    if not rows:
        raise DataError(path, "no question with its figures: is it what `bench recall --json` printed?")
    return rows


def compared(before: Iterable[Figures], now: Iterable[Figures]) -> list[Figures]:
    """For each kind of talk, whose question, and figure: before, now, and the difference with the interval that holds it in 95
    of 100 cases, by a paired bootstrap over the questions that both runs asked. ``better`` is None where it holds 0."""
    earlier = {_key(row): row["values"] for row in before}
    differences: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in now:
        there = earlier.get(_key(row), {})
        for name in there.keys() & row["values"].keys():
            differences.setdefault((row["kind"], row["sort"], name), []).append((there[name], row["values"][name]))
    return [
        {"kind": kind, "sort": sort, "figure": name} | _difference(np.array(pairs), name)
        for (kind, sort, name), pairs in sorted(differences.items())
    ]


def _key(row: Figures) -> tuple[str, ...]:
    return row["kind"], row["sort"], row["haystack"], row["id"]


def _difference(pairs: np.ndarray, name: str) -> Figures:
    """``pairs`` (questions, 2): before and now."""
    change = pairs[:, 1] - pairs[:, 0]
    drawn = np.random.default_rng(0).integers(len(change), size=(BOOTSTRAP_DRAWS, len(change)))
    low, high = np.quantile(change[drawn].mean(axis=1), SURE)
    better = bool(change.mean() > 0) == (name in LARGER_IS_BETTER) if low > 0 or high < 0 else None
    row = {
        "before": pairs[:, 0].mean(),
        "now": pairs[:, 1].mean(),
        "difference": change.mean(),
        "low": low,
        "high": high,
    }
    return {"questions": len(change), **{key: round(float(value), 4) for key, value in row.items()}, "better": better}


# ---- for people


def report(row: Figures) -> str:
    """A row of a file, of a kind, of all kinds or of a comparison, over one or several lines."""
    if "figure" in row:
        mark = {None: "", True: "  better", False: "  WORSE"}[row["better"]]
        place = f"{row['kind']:16} {row['sort']:10} {row['figure']:18}"
        interval = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
        return f"{place} {shown(row['before'])} → {shown(row['now'])}  {interval}{mark}"
    if "kinds" in row:
        lines = [f"over {row['kinds']} kinds of talk: mean, and the worst"]
        figures = ((name, figure) for name, figure in row.items() if name != "kinds")
        return "\n".join([
            *lines,
            *(f"  {name:18} {shown(figure['mean'])}  {shown(figure['worst'])} ({figure['kind']})" for name, figure in figures),
        ])  # fmt: skip
    lines = [row.get("file") or f"kind of talk: {row['kind']}", "  " + _figures(row)]
    lines += [f"  {name:18} {_figures(group)}" for name, group in row["by"].items()]
    lines.append(
        f"  in the prompt: {shown(row['injected_of_10'])} of what is in the first ten, "
        f"{shown(row['messages_injected'])} messages, {_two(row['tokens'])} tokens (p50 / p95); "
        f"unanswerable {shown(row['false_recall'])}"
    )
    lines.append(f"  {'two at once':18} {_figures(row['pairs'])}")
    for sort in FOREIGN:
        foreign = row[sort]
        shares = ", ".join(f"{name} {shown(foreign[name])}" for name in ("diary", "facts", "any"))
        lines.append(f"  {sort:11} {foreign['questions']}: {shares}, {_two(foreign['tokens'])} tokens")
    lines.append(f"  ms, p50 / p95: all {row['p50_ms']} / {row['p95_ms']}")
    lines += [f"    {name:12} {_two(spread)}" for name, spread in row["stages_ms"].items() if "file" in row]
    return "\n".join(lines)


def _two(spread: Sequence[float]) -> str:
    return f"{spread[0]:g} / {spread[1]:g}"


def _figures(row: Figures) -> str:
    return ", ".join(f"{name} {shown(row[name])}" for name in ("questions", *FOUND))


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
