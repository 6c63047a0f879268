"""The one tree of errors and warnings of the package.

Every error raised on purpose derives from :class:`PropCVXError`, every warning from
:class:`PropCVXWarning`.  A message names the argument, what came, and what would do.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class PropCVXError(Exception):
    """Base of all errors of the package."""


class InputError(PropCVXError, ValueError):
    """An argument cannot be used as it came; the message names it and says what would do."""


class InfeasibleLabelingError(InputError):
    """No labeling satisfies the bags' proportions within ``epsilon``."""


class GramMatrixMemoryError(PropCVXError, MemoryError):
    """A Gram matrix would not fit into the available memory; nothing was allocated."""


class SolverError(PropCVXError, RuntimeError):
    """A solver did not return a usable answer.

    Attributes
    ----------
    solver : str
        Name of the solver that was asked.
    status : str
        What it answered.
    """

    def __init__(self, message: str, solver: str, status: str) -> None:
        super().__init__(message)
        self.solver = solver
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.solver, self.status)


class LicenseError(SolverError):
    """A commercial solver refused for want of a license, such as for the size of the problem."""


class UnsupportedSolverError(InputError):
    """The solver is unknown, not installed, or cannot solve that class of problem."""


class InconsistentBoundsError(InputError):
    """A lower bound is above an upper one, so one of them is none; the message names whose."""


class ResidualsError(InputError):
    """Residuals of a problem's values cannot be computed: a part of it is not covered, or unset."""


class PropCVXWarning(UserWarning):
    """Base of all warnings of the package."""


class IllPosedWarning(PropCVXWarning):
    """The answer exists but the data hardly determine it (for example near-equal proportions)."""


class UnscaledWarning(PropCVXWarning):
    """Columns have so different ranges that the widest decide a fit."""


class PoorFitWarning(PropCVXWarning):
    """A fit predicts one class, or more labels are certainly wrong than with one class for all."""


class SplitBagWarning(PropCVXWarning):
    """Bags arrive with fewer rows than they have, as a split cut them, or with more."""


class FewBagsWarning(PropCVXWarning):
    """Scores are of so few bags that they say little."""


class InaccurateSolutionWarning(PropCVXWarning):
    """A solver stopped before its tolerance; its answer is used and its residuals are reported."""


class UncheckedResidualsWarning(PropCVXWarning):
    """An answer is given without its residuals: a part of the problem is not covered by them."""


class BoundFailedWarning(PropCVXWarning):
    """A bound failed; the interval is what the others proved."""


@contextmanager
def require_extra(extra: str, what: str) -> Iterator[None]:
    """Say what to install where an import fails; also as a decorator.

    Parameters
    ----------
    extra : str
        The optional dependencies of propcvx that contain the package.
    what : str
        What needs it.
    """
    try:
        yield
    except ImportError as failure:
        raise InputError(
            f"{what} needs a package that is not installed: pip install 'propcvx[{extra}]' "
            f"({failure})."
        ) from failure


_muted: ContextVar[tuple[type[PropCVXWarning], ...]] = ContextVar("_muted", default=())


@contextmanager
def suppress_warnings(category: type[PropCVXWarning]) -> Iterator[None]:
    """No warnings of the package of a category, in this thread alone.

    ``warnings.catch_warnings`` is of the whole process: threads that overlap leave its filters.
    """
    before = _muted.set((*_muted.get(), category))
    try:
        yield
    finally:
        _muted.reset(before)


def warn(message: str, category: type[PropCVXWarning]) -> None:
    """Warn at the caller's first line outside the package and scikit-learn."""
    if issubclass(category, _muted.get()):
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    """Also what is between: pipelines and searches, and a context manager that is a decorator."""
    return module.partition(".")[0] in ("propcvx", "sklearn", "joblib", "contextlib")
