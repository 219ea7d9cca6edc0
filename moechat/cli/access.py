"""Commands for who may come in: sessions, one-time codes, the password of the page."""

from __future__ import annotations

import argparse
import getpass
import sys

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
