"""``moechat when``: what times a text names."""

from __future__ import annotations

import argparse
import json
import sys

from moechat import when
from moechat.clock import clock_at
from moechat.settings import config


def resolve(args: argparse.Namespace) -> None:
    """Texts from the command line, else lines from standard input, each with its spans."""
    settings = config.load(args.config).time if args.config.exists() else config.Config().time
    now = clock_at(args.now, settings.tzinfo).now()
    for text in args.text or (line.rstrip("\r\n") for line in sys.stdin):
        spans = when.resolve(text, now, widths={**when.WIDTHS, **settings.widths})
        if args.json:
            row = {"text": text, "spans": [span_as_json(span) for span in spans]}
            print(json.dumps(row, ensure_ascii=False), flush=True)
        else:
            shown = "; ".join(f"{s.phrase}: {s.start:%Y-%m-%d %H:%M:%S} – {s.end:%Y-%m-%d %H:%M:%S}" for s in spans)
            print(f"{text}  →  {shown or '–'}", flush=True)


def span_as_json(span: when.Span) -> dict[str, str]:
    return {
        "phrase": span.phrase,
        "start": span.start.replace(tzinfo=None).isoformat(),
        "end": span.end.replace(tzinfo=None).isoformat(),
    }
