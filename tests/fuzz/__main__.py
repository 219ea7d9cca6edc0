"""Every parser of what people share or edit, with inputs that are wrong: ``python -m tests.fuzz --inputs 100000 --seed 1``.

No parser may raise anything but its own refusals, take more than 5 s of CPU or 500 MB over one input, or kill its process.
Exit status 1 where one does; the input that did it is shown. ``--only NAME`` takes the parsers whose name has that in it.
Then sentences go through every reader of talk (``tests.fuzz.sentences``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import subprocess
import sys

from tests.fuzz.batches import all_parsers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first input: a long run may go in parts"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--sentences", type=int, help="so many sentences (default: a tenth of the inputs, none with --only)"
    )
    parser.add_argument("--json", action="store_true", help="one object a line")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    faults = inputs = 0
    cpu_s = 0.0
    for outcome in all_parsers(arguments.inputs, arguments.seed, arguments.only, first=arguments.first):
        faults, inputs, cpu_s = faults + len(outcome.faults), inputs + outcome.inputs, cpu_s + outcome.cpu_s
        told = {"parser": outcome.parser, "inputs": outcome.inputs, "cpu_s": round(outcome.cpu_s, 1)}
        found = [fault.told() for fault in outcome.faults.values()]
        if arguments.json:
            print(json.dumps(told | {"faults": found}, ensure_ascii=False), flush=True)
            continue
        print(f"{outcome.parser}: {outcome.inputs} inputs, {outcome.cpu_s:.1f} s CPU, {len(found)} faults", flush=True)
        for fault in found:
            print(f"  {fault['what']} at {fault['where']}, input {fault['number']}: {str(fault['data'])[:300]}")
    if not arguments.json:
        print(f"{inputs} inputs, {faults} faults, {inputs / max(cpu_s, 1e-9):.0f} inputs/s of CPU")
    count = (
        arguments.sentences if arguments.sentences is not None else (0 if arguments.only else arguments.inputs // 10)
    )
    if count and importlib.util.find_spec("tests.fuzz.sentences"):
        command = [sys.executable, "-m", "tests.fuzz.sentences", "--count", str(count), "--seed", str(arguments.seed)]
        faults += subprocess.run(command, check=False).returncode
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
