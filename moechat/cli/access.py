"""Commands for who may come in: sessions, one-time codes, the password of the page, and the keys of programs."""

from __future__ import annotations

import argparse
import getpass
import sys

from moechat.access.keys import Key, Keyring
from moechat.access.register import CODE_LASTS, Register
from moechat.cli.session import tell
from moechat.errors import MoeChatError


def listing(args: argparse.Namespace) -> None:
    """The sessions that are open, a line each."""
    for session in Register(args.data).sessions():
        seen, until = (f"{moment.astimezone():%Y-%m-%d %H:%M}" for moment in (session.seen, session.until))
        line = f"{session.id}  {session.address}  {session.browser}  last seen {seen}  until {until}"
        tell(args, session.model_dump(mode="json"), line)


def revoke(args: argparse.Namespace) -> None:
    register = Register(args.data)
    if not (args.ids or args.all):
        raise MoeChatError("name sessions, as `access list` shows them, or --all")
    ended = {session.id for session in register.revoke(None if args.all else args.ids)}
    if missing := [id_ for id_ in args.ids if id_ not in ended]:
        raise MoeChatError(f"there is no session {', '.join(missing)}; `access list` shows them")
    print(f"{len(ended)} ended")


def code(args: argparse.Namespace) -> None:
    minutes = int(CODE_LASTS.total_seconds() / 60)
    made = Register(args.data).new_code()
    tell(args, {"code": made}, f"{made}  ({minutes} min, once)")


def password(args: argparse.Namespace) -> None:
    """Ask for a password twice at the terminal; from a pipe, read one line."""
    register = Register(args.data)
    if args.remove:
        register.set_password("")
        print("no password any more; all sessions ended")
        return
    if sys.stdin.isatty():
        chosen = getpass.getpass("New password: ")
        if getpass.getpass("Once more: ") != chosen:
            raise MoeChatError("these are two different passwords; nothing was changed")
    else:
        chosen = sys.stdin.readline().rstrip("\r\n")
    if not chosen:
        raise MoeChatError("the password is empty; to be without one, use --remove")
    register.set_password(chosen)
    print("password set; all sessions ended")


# ---- the keys of programs that ask over HTTP


def add_key(args: argparse.Namespace) -> None:
    """Make a key; its word is printed once, and kept nowhere."""
    key, word = Keyring(args.data).add(
        args.name,
        users=args.key_user,
        characters=args.key_character,
        many=args.many,
        per_minute=args.rate,
        new=args.new,
    )
    tell(args, _key_row(key) | {"key": word}, f"{word}\n{key.id}  {key.name}  {_reach_of(key)}  (shown once: keep it)")


def keys(args: argparse.Namespace) -> None:
    for key in Keyring(args.data).listed():
        begun = f"{key.begun} of {key.new} memories  since {key.since.astimezone():%Y-%m-%d}"
        tell(args, _key_row(key), f"{key.id}  {key.name}  {_reach_of(key)}  {key.per_minute}/min  {begun}")


def revoke_keys(args: argparse.Namespace) -> None:
    for key in Keyring(args.data).revoke(args.ids):
        print(f"{key.id}  {key.name}: revoked")


def _key_row(key: Key) -> dict[str, object]:
    return key.model_dump(mode="json", exclude={"mark"})


def _reach_of(key: Key) -> str:
    users = "many users" if key.many else "users " + ", ".join(key.users) if key.users else "all users"
    return users + (f", characters {', '.join(key.characters)}" if key.characters else "")
