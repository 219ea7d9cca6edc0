"""``python -m moechat``."""

import sys

from moechat.cli import main

sys.exit(main())
