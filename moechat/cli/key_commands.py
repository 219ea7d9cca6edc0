"""Commands for the keys of programs that ask over HTTP."""

from __future__ import annotations

import argparse

from moechat.access.keys import Key, Keyring
from moechat.cli.session import tell


def add(args: argparse.Namespace) -> None:
    """Make a key; its word is printed once, and kept nowhere."""
    key, word = Keyring(args.data).add(
        args.name,
        users=args.key_user,
        characters=args.key_character,
        many=args.many,
        per_minute=args.rate,
        new=args.new,
    )
    tell(args, _row(key) | {"key": word}, f"{word}\n{key.id}  {key.name}  {_reach(key)}  (shown once: keep it)")


def listing(args: argparse.Namespace) -> None:
    for key in Keyring(args.data).listed():
        begun = f"{key.begun} of {key.new} memories  since {key.since.astimezone():%Y-%m-%d}"
        tell(args, _row(key), f"{key.id}  {key.name}  {_reach(key)}  {key.per_minute}/min  {begun}")


def revoke(args: argparse.Namespace) -> None:
    for key in Keyring(args.data).revoke(args.ids):
        print(f"{key.id}  {key.name}: revoked")


def _row(key: Key) -> dict[str, object]:
    return key.model_dump(mode="json", exclude={"mark"})


def _reach(key: Key) -> str:
    users = "many users" if key.many else "users " + ", ".join(key.users) if key.users else "all users"
    return users + (f", characters {', '.join(key.characters)}" if key.characters else "")
