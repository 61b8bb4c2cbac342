#!/usr/bin/env python3
"""Runs a command with a real PostgreSQL and a real Temporal server beside it.

    scripts/services.py run [--postgres] [--temporal] [--python-sdk] -- COMMAND…

Nothing needs to be installed beforehand but Python 3.9 with pip; nothing is left running or lying
about afterwards. `scripts/services.py --help` has the rest.
"""

import sys

if sys.version_info < (3, 9):
    sys.exit("services: Python 3.9 or newer is needed; this is " + sys.version.split()[0])

from local_services.cli import main

if __name__ == "__main__":
    sys.exit(main())
