r"""The labeling step with soft labels: its entropic relaxation."""

from __future__ import annotations

import cvxpy as cp

from propcvx.labelings import FeasibleLabelings
from propcvx.programs.labeling import feasible_counts
from propcvx.programs.program import Program, build


def entropic_labeling_step(feasible: FeasibleLabelings) -> Program:
    r"""Labels z in [0, 1] for fixed scores, less their entropy at a temperature T.

    .. math::

        \min_z \sum_i \big[ z_i L(+1, f_i) + (1 - z_i) L(-1, f_i) \big]
        - T \sum_i \big[ h(z_i) + h(1 - z_i) \big], \qquad h(z) = -z \log z

    over the z whose sums over the bags are feasible.  As T falls to 0, z becomes the labeling of
    Proposition 1, with the proportions as constraints.

    Parameters
    ----------
    feasible : FeasibleLabelings
        The set :math:`\mathcal{Y}`.

    Returns
    -------
    Program
        Variable ``z`` (N,).  Parameters ``loss_positive``, ``loss_negative`` (N,) >= 0 and
        ``temperature`` > 0.  Constraints ``lower``, ``upper``, ``known``.
    """
    n = feasible.bags.n_instances
    z = cp.Variable(n, name="z")
    positive = cp.Parameter(n, nonneg=True, name="loss_positive")
    negative = cp.Parameter(n, nonneg=True, name="loss_negative")
    T = cp.Parameter(nonneg=True, name="temperature")
    entropy = cp.sum(cp.entr(z)) + cp.sum(cp.entr(1 - z))
    return build(
        "entropic_labeling_step",
        "eq:solving_y",
        cp.Minimize(positive @ z + negative @ (1 - z) - T * entropy),
        feasible_counts(z, feasible),
    )
