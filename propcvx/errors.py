"""The one tree of errors and warnings of the package.

Every error raised on purpose derives from :class:`PropCVXError`, every warning from
:class:`PropCVXWarning`.  A message names the argument, the requirement, and the value.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class PropCVXError(Exception):
    """Base of all errors of the package."""


class InputError(PropCVXError, ValueError):
    """An argument is invalid; the message names it and the requirement."""


class InfeasibleLabelingError(InputError):
    """No labeling satisfies the bags' proportions within ``epsilon``."""


class GramMatrixMemoryError(PropCVXError, MemoryError):
    """A Gram matrix would not fit into the available memory; nothing was allocated."""


class SolverError(PropCVXError, RuntimeError):
    """A solver did not return a usable solution.

    Attributes
    ----------
    solver : str
        Name of the solver that was asked.
    status : str
        The status that the solver returned.
    """

    def __init__(self, message: str, solver: str, status: str) -> None:
        super().__init__(message)
        self.solver = solver
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.solver, self.status)


class LicenseError(SolverError):
    """A commercial solver refused without a license, for example for the size of the problem."""


class UnsupportedSolverError(InputError):
    """The solver is unknown, not installed, or cannot solve that class of problem."""


class InconsistentBoundsError(InputError):
    """A lower bound is above an upper bound, so at least one is invalid; the message names it."""


class ResidualsError(InputError):
    """Residuals cannot be computed: an unsupported kind of constraint, or a variable unset."""


class PropCVXWarning(UserWarning):
    """Base of all warnings of the package."""


class IllPosedWarning(PropCVXWarning):
    """The data barely identify the solution, as with nearly equal proportions.

    Pass known labels, or use another method.
    """


class UnscaledWarning(PropCVXWarning):
    """Columns have such different ranges that the widest ones determine the fit.

    Standardize the columns.
    """


class PoorFitWarning(PropCVXWarning):
    """A fit predicts one class, or misses the proportions by more than predicting one class does.

    Scale the features, or try another method.
    """


class SplitBagWarning(PropCVXWarning):
    """Bags have fewer or more rows than when the target was made, usually after a split.

    Split whole bags, with BagKFold.
    """


class FewBagsWarning(PropCVXWarning):
    """A score is of too few bags to be informative.

    Use fewer splits.
    """


class InaccurateSolutionWarning(PropCVXWarning):
    """A solver stopped before its tolerance; the solution is used, its residuals are reported.

    Scale the features, or use another solver.
    """


class UncheckedResidualsWarning(PropCVXWarning):
    """A solution is not checked: the solver returned no duals for a part of the program.

    Compare with another solver.
    """


class UnreliableIntervalWarning(PropCVXWarning):
    """Intervals may be too narrow, or are made of fewer resamples than asked for.

    Add the columns that define the groups to X; divide weights of a survey by their mean.
    """


class BoundFailedWarning(PropCVXWarning):
    """A bound failed; the interval is proved by the others.

    Read the error in the message.
    """


@contextmanager
def require_extra(extra: str, what: str) -> Iterator[None]:
    """Raise an error that names what to install if an import fails; also as a decorator.

    Parameters
    ----------
    extra : str
        The optional dependencies of propcvx that contain the package.
    what : str
        The function that needs it.
    """
    try:
        yield
    except ImportError as failure:
        raise InputError(
            f"{what} needs a package that is not installed: pip install 'propcvx[{extra}]' "
            f"({failure})."
        ) from failure


_suppressed: ContextVar[tuple[type[PropCVXWarning], ...]] = ContextVar("_suppressed", default=())


@contextmanager
def suppress_warnings(category: type[PropCVXWarning]) -> Iterator[None]:
    """Suppress the package's warnings of a category, in this thread only.

    ``warnings.catch_warnings`` changes the whole process: overlapping threads leave its filters.
    """
    token = _suppressed.set((*_suppressed.get(), category))
    try:
        yield
    finally:
        _suppressed.reset(token)


def warn(message: str, category: type[PropCVXWarning]) -> None:
    """Warn at the caller's first line outside the package and scikit-learn."""
    if issubclass(category, _suppressed.get()):
        return
    skipped = ("propcvx", "sklearn", "joblib", "contextlib")
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in skipped:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
