"""``python app.py`` is ``moechat web``."""

import sys

from moechat.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["web", *sys.argv[1:]]))
