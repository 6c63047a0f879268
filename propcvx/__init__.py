"""Learning with label proportions: classifiers, checks and estimates from bags."""

from pkgutil import iter_modules

import lazy_loader

__version__ = "0.1.0"

# The names are in __init__.pyi.  Each is imported when it is first used: all of them, with CVXPY,
# scikit-learn and SciPy, take two seconds, for which the help of the command need not wait.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted(set(_names) - {module.name for module in iter_modules(__path__)})
