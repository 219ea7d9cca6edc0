"""The measuring commands: ``calibrate`` and ``bench``."""

from __future__ import annotations

import argparse

from moechat.cli.session import agent_of, open_house, print_json, tell, warn


def calibrate(args: argparse.Namespace) -> int:
    from moechat.bench import calibrate

    with open_house(args) as house:
        agent = agent_of(house, args)
        agent.layers.read_all()
        pairs = calibrate.read(args.pairs) if args.pairs else calibrate.own_pairs(agent)
        calibration = calibrate.calibrate(agent, pairs)
        if args.write:
            calibrate.write(args.config, agent, calibration)
    tell(args, calibrate.as_json(calibration), calibrate.report(calibration))
    if not calibration.fits:
        warn(["no threshold was fitted; talk more, or give labelled pairs with --pairs"])
    return 0 if calibration.fits else 1


def speed(args: argparse.Namespace) -> None:
    from moechat.bench import speed

    figures = speed.speed(args.entries)
    tell(args, figures, *(f"{name:>16}  {value}" for name, value in figures.items()))


def recall(args: argparse.Namespace) -> None:
    from moechat.bench import figures, recall

    config = args.config if args.config.exists() else None
    earlier = figures.read(args.against) if args.against else []
    questions: list[figures.Figures] = []

    def each(row: figures.Figures) -> None:
        if "values" in row:
            questions.append(row)
        if args.json:
            print_json(row)
        elif "values" not in row:
            print(figures.report(row), flush=True)

    recall.measure(args.files, config=config, provider=args.embedding, each=each, keep=args.keep)
    for row in figures.compared(earlier, questions):
        tell(args, row, figures.report(row))


def years(args: argparse.Namespace) -> None:
    from moechat.bench import years

    life = {"days": args.days, "per_day": args.per_day}
    if args.write:
        years.write_file(args.language, args.seed, **life, path=args.write)
        return
    doors = years.DOORS if args.door == "all" else [args.door]
    for row in years.measure(args.language, args.seed, **life, doors=doors, embedding=args.embedding, wrong=args.wrong):
        tell(args, row, *(f"{name:>18}  {value}" for name, value in row.items()), "")
