"""The documents say what is so: links lead somewhere, commands exist, transcripts are what the program prints."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from docs import reference
from moechat import __version__
from moechat.cli import main as cli
from moechat.settings.prompts import TEMPLATES

ROOT = Path(__file__).resolve().parents[1]
READMES = ("README.md", "README.zh-CN.md")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language in a document."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The headings of a document as links name them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    path = ROOT / name
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        target, _, anchor = unquote(link).partition("#")
        other = (path.parent / target).resolve() if target else path
        assert other.exists(), f"{name} links to {link}"
        assert not anchor or anchor in anchors(other), f"{name} links to {link}"


def test_the_readmes_link_each_other_and_every_document_is_linked() -> None:
    told = {path: LINK.findall(path.read_text(encoding="utf-8")) for path in DOCUMENTS}
    assert "README.zh-CN.md" in told[ROOT / "README.md"]
    assert "README.md" in told[ROOT / "README.zh-CN.md"]
    linked = {(path.parent / link.partition("#")[0]).resolve() for path, links in told.items() for link in links}
    assert [str(path) for path in DOCUMENTS if path not in linked] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_command_that_a_document_names_exists(name: str) -> None:
    commands = {command.name for command in cli.commands()}
    groups = {command.split()[0] for command in commands if " " in command}
    words = rf"(?:\$ |`)moechat ((?:(?:{'|'.join(sorted(groups))}) )?[a-z-]+)"
    told = re.findall(words, (ROOT / name).read_text(encoding="utf-8"))
    assert set(told) <= commands | groups


@pytest.mark.parametrize("name", READMES)
def test_make_has_the_targets_that_the_readme_names(name: str) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    told = re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert {"run", "test"} <= set(told) <= set(targets)


@pytest.mark.parametrize("name", READMES)
def test_the_transcript_of_a_readme_is_what_the_program_prints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (transcript,) = blocks(ROOT / name, "console")
    monkeypatch.chdir(tmp_path)
    for told in transcript.split("$ moechat ")[1:]:
        command, printed = told.split("\n", 1)
        assert cli.main(shlex.split(command)) == 0
        assert capsys.readouterr().out.strip() == printed.strip()


def test_the_page_of_commands_is_the_one_that_make_docs_writes() -> None:
    written = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert written == reference.command_line(), "run `make docs`"


def test_every_option_has_a_word_of_help() -> None:
    for command in cli.commands():
        assert command.about, command.name
        assert [one.names for one in command.arguments if not one.about] == [], command.name


def test_the_version_stands_in_one_place_and_at_the_head_of_the_changes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert project["dynamic"] == ["version"] and newest[1] == __version__


@pytest.mark.parametrize("name", NAMES)
def test_every_yaml_example_can_be_read(name: str) -> None:
    for block in blocks(ROOT / name, "yaml"):
        assert isinstance(yaml.safe_load(block), dict)


def test_every_prompt_stands_in_the_document_with_its_placeholders() -> None:
    text = (ROOT / "docs/characters.md").read_text(encoding="utf-8").split("## `prompts/`")[1]
    rows = [row.split("|")[1:-1] for row in re.findall(r"^\| `.*$", text, re.MULTILINE)]
    assert {row[0].strip(" `"): tuple(row[3].replace("`", "").split()) for row in rows} == TEMPLATES


# ---- dependencies and architecture


def declared() -> set[str]:
    """The packages of pyproject.toml, extras too; an extra that includes another one names moechat itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    return {re.split(r"[>=<;\[ ]", line)[0].lower() for line in asked} - {"moechat"}


def test_every_dependency_is_justified_and_none_that_is_gone() -> None:
    text = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8").lower()
    rows = [re.split(r" *\| *", row) for row in re.findall(r"^\| .*$", text, re.MULTILINE)]
    told = {name for row in rows for cell in row[1:3] for name in cell.split(", ")}
    assert declared() - told == set()


def test_every_dependency_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().splitlines()
    pinned = {line.partition("==")[0].replace("_", "-") for line in lines if "==" in line}
    assert {name.replace("_", "-") for name in declared()} - pinned == set()


def test_the_licences_told_are_those_of_the_installed_packages() -> None:
    text = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| .*$", text, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        names = next((cell.split(", ") for cell in cells[:2] if set(cell.lower().split(", ")) <= declared()), [])
        for name in names:
            try:
                told = metadata.metadata(name)
            except metadata.PackageNotFoundError:
                continue
            licence = f"{told.get('License-Expression')} {told.get('License')} {told.get_all('Classifier')}"
            given = next(cell for cell in cells if re.match(r"MIT|Apache|BSD|MPL|L?GPL", cell)).split(" ")[0]
            assert given.split("-")[0] in licence, f"{name}: {given} is not in {licence}"


def test_the_map_is_what_the_docstrings_say() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    import map as chart

    assert chart.page() == (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), "run `make docs`"


# ---- nothing of the machines that it was made on

ELSEWHERE = re.compile(
    r"/(?:work|root|opt|home|Users)/\w|file://|pypi\.org|pythonhosted|https?://(?!127\.0\.0\.1|localhost|\[::1\])[\w.-]*(?:pypi|index|mirror|registry)",
    re.IGNORECASE,
)


def tracked() -> list[Path]:
    """The files of the repository, or of its folder where it is none."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if asked.returncode == 0:
        return [ROOT / name for name in asked.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    return [
        path for folder in ("moechat", "docs", "prompts") for path in (ROOT / folder).rglob("*.*") if path.is_file()
    ]


def test_no_file_names_a_folder_of_a_machine_or_a_package_index() -> None:
    found = []
    for path in tracked():
        if path == Path(__file__) or path.suffix in (".png", ".ico", ".npz"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := ELSEWHERE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]}")
    assert found == []


@pytest.mark.parametrize("picture", ["docs/chat.png", "docs/chat-en.png"])
def test_the_pictures_are_small(picture: str) -> None:
    assert 10_000 < (ROOT / picture).stat().st_size <= 300_000
