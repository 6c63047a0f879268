"""``python -m propcvx``: the command ``propcvx``."""

from propcvx.cli import main

raise SystemExit(main())
