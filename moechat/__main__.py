"""``python -m moechat``."""

import sys

from moechat.cli.main import main

sys.exit(main())
