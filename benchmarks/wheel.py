"""A built wheel in a new environment, outside the checkout: the commands and the example of README.md, as a stranger runs them.

    python -m build && python benchmarks/wheel.py dist/*.whl        # with the versions of constraints.txt
    python benchmarks/wheel.py dist/moechat-0.1.0-py3-none-any.whl --newest --tag v0.1.0

It needs nothing but Python: the environment and everything in it are temporary. ``--newest`` takes the newest versions that the
wheel allows instead, ``--tag`` must name the version of the wheel. What it tries: ``moechat --version``, every command of the
README's example and what it prints, the page (``moechat web``) and memory over HTTP (``moechat serve``), which end when told.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_S, END_S = 180, 30
NOWHERE = ("PYTHONPATH", "VIRTUAL_ENV", "MOECHAT_DATA", "MOECHAT_CONFIG")


def environment(folder: Path, wheel: Path, *, is_newest: bool) -> Path:
    """A new environment with the wheel in it; gives its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    bounds = [] if is_newest else ["-c", str(ROOT / "constraints.txt")]
    install = [programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *bounds, wheel]
    subprocess.run([str(part) for part in install], check=True, cwd=folder)
    return programs


def own(home: Path) -> dict[str, str]:
    """The variables of somebody whose home is new."""
    kept = {name: value for name, value in os.environ.items() if name not in NOWHERE}
    return kept | {"HOME": str(home), "USERPROFILE": str(home), "PYTHONUTF8": "1", "XDG_DATA_HOME": str(home / "share")}


def example(moechat: Path, folder: Path) -> int:
    """Runs the README's example in a folder with an empty folder ``data``; gives how many of its commands print anything else."""
    (folder / "data").mkdir(parents=True)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [transcript] = re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    wrong = 0
    for step in transcript.split("$ moechat ")[1:]:
        command, due = step.split("\n", 1)
        run = subprocess.run(
            [str(moechat), *shlex.split(command)], cwd=folder, env=own(folder), capture_output=True, encoding="utf-8", check=False
        )  # fmt: skip
        is_good = run.returncode == 0 and run.stdout.strip() == due.strip()
        wrong += not is_good
        sys.stdout.write(f"{'good' if is_good else 'WRONG'}: moechat {command}\n")
        if not is_good:
            sys.stdout.write(f"{run.stdout}{run.stderr}\n")
    return wrong


@contextlib.contextmanager
def listening(moechat: Path, folder: Path, *words: str) -> Iterator[str]:
    """A server of the installed program while the block runs; gives its address."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    server = subprocess.Popen([str(moechat), *words, "--port", str(port)], cwd=folder, env=own(folder))
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(END_S)


def answer(address: str) -> str:
    until = time.monotonic() + START_S
    while True:
        try:
            with urllib.request.urlopen(address, timeout=20) as reply:
                return str(reply.read().decode())
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(0.5)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("wheel", type=Path)
    asked.add_argument("--newest", action="store_true", help="the newest versions that the wheel allows")
    asked.add_argument("--tag", default="", help="the tag of the release, v0.1.0; it must name the wheel's version")
    wish = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="moechat-wheel-", ignore_cleanup_errors=True) as one:
        folder = Path(one)
        programs = environment(folder / "env", wish.wheel.resolve(), is_newest=wish.newest)
        moechat = programs / ("moechat.exe" if os.name == "nt" else "moechat")
        run = subprocess.run([str(moechat), "--version"], cwd=folder, capture_output=True, text=True, check=True)
        version = run.stdout.split()[-1]
        sys.stdout.write(f"moechat {version} on Python {sys.version.split()[0]}\n")
        if wish.tag and wish.tag != f"v{version}":
            remedy = "change __version__ in moechat/__init__.py, or the tag"
            sys.stderr.write(f"the tag is {wish.tag}, the wheel is {version}: {remedy}\n")
            return 1
        wrong = example(moechat, folder / "talk")
        with listening(moechat, folder / "talk", "web", "--no-browser") as address:
            is_page = "moechat" in answer(address).lower()
        with listening(moechat, folder / "talk", "serve") as address:
            answer(f"{address}/readyz")
            has_models = "Wren" in answer(f"{address}/v1/models")
        sys.stdout.write(f"page: {'good' if is_page else 'WRONG'}\nHTTP: {'good' if has_models else 'WRONG'}\n")
    return int(bool(wrong) or not is_page or not has_models)


if __name__ == "__main__":
    raise SystemExit(main())
