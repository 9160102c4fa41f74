"""`python -m fhtd` is the command `fhtd`."""

import sys

from fhtd.commands.main import main

sys.exit(main())
