"""The one tree of errors and warnings of the package.

Every error raised on purpose derives from :class:`PropCVXError`, every warning from
:class:`PropCVXWarning`.  A message names the argument, what came, and what would do.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any
from weakref import WeakValueDictionary


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


class LicenceError(SolverError):
    """A commercial solver refused for want of a licence, such as for the size of the problem."""


class UnsupportedSolverError(InputError):
    """The solver is unknown, not installed, or cannot solve that class of problem."""


class CrossedBoundsError(InputError):
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


class CutBagWarning(PropCVXWarning):
    """Bags arrive with fewer rows than they have, as a split cut them, or with more."""


class FewBagsWarning(PropCVXWarning):
    """Scores are of so few bags that they say little."""


class InaccurateSolutionWarning(PropCVXWarning):
    """A solver stopped before its tolerance; its answer is used and its residuals are reported."""


class UncheckedWarning(PropCVXWarning):
    """An answer is given without its residuals: a part of the problem is not covered by them."""


class FailedBoundWarning(PropCVXWarning):
    """A bound failed; the interval is what the others proved."""


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
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
def muted(category: type[PropCVXWarning]) -> Iterator[None]:
    """No warnings of the package of a category, in this thread alone.

    ``warnings.catch_warnings`` is of the whole process: threads that overlap leave its filters.
    """
    before = _muted.set((*_muted.get(), category))
    try:
        yield
    finally:
        _muted.reset(before)


_warned: WeakValueDictionary[tuple[int, str, int], Any] = WeakValueDictionary()
"""What was warned of once for a line of the caller's."""


def warn(message: str, category: type[PropCVXWarning], once_for: Any = None) -> None:
    """Warn at the first line of the caller's that is outside the package and scikit-learn.

    A cell of a notebook has no name but that of a temporary file, which is not shown.  There is one
    warning of ``once_for``, if it is given, for each line: Python's own memory of what it has shown
    ends with every ``catch_warnings``.
    """
    if issubclass(category, _muted.get()):
        return
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    name, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "")
    line = id(once_for), name, frame.f_lineno
    if once_for is not None and _warned.get(line) is once_for:
        return
    shown = "line" if "ipykernel_" in name else name
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, shown, frame.f_lineno, module, registry)
    if once_for is not None:  # and the warning was no error
        _warned[line] = once_for


ONE_FOLD = ("_fit_and_score", "_rfe_single_fit", "_permutation_test_score")
"""Functions of scikit-learn that fit and score one fold, for all its searches and curves."""


def called_within(*functions: str) -> dict[str, Any]:
    """What a function of scikit-learn was called with and has computed, inside of it.

    Of the innermost with one of these names; outside of them it is empty.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name not in functions:
        frame = frame.f_back
    return {} if frame is None else dict(frame.f_locals)


def _is_ours(module: str) -> bool:
    """Also what is between: pipelines and searches, and a context manager that is a decorator."""
    return module.partition(".")[0] in ("propcvx", "sklearn", "joblib", "contextlib")
