"""Learning with label proportions: the programs, loops and classifiers of pSVM (ICML 2013)."""

from pkgutil import iter_modules

import lazy_loader

__version__ = "0.1.0"

# The names are in __init__.pyi.  Each is imported when it is first used: all of them, with CVXPY,
# scikit-learn and SciPy, take two seconds, for which the help of the command need not wait.
_import, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted(set(_names) - {module.name for module in iter_modules(__path__)})

_REPLACED = {"LaplacianMeanMap": "MeanMap", "class_means_test": "check_fit"}
"""Removed names, and their replacements."""


def __getattr__(name: str) -> object:
    if name in _REPLACED:
        raise ImportError(f"propcvx has no {name} any more. Use {_REPLACED[name]}.")
    return _import(name)
