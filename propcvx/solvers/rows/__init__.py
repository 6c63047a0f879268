"""The rows of the table of solvers, a file for each kind, and those that are absent."""

from propcvx.solvers.rows.absent import ABSENT
from propcvx.solvers.rows.commercial import COMMERCIAL
from propcvx.solvers.rows.core import CORE
from propcvx.solvers.rows.further import FURTHER
from propcvx.solvers.rows.specialised import SPECIALISED

__all__ = ["ABSENT", "COMMERCIAL", "CORE", "FURTHER", "SPECIALISED"]
