"""Solvers that CVXPY reaches and this table does not have, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LINEAR = "linear programs only, with or without booleans; highs takes those of the package"
GPU = "needs an accelerator"

ABSENT: Mapping[str, str] = MappingProxyType(
    {
        "mosek": "starts for nobody without a licence file; it was not tried here",
        "knitro": "starts for nobody without a licence; it was not tried here",
        "nag": "starts for nobody without a licence; it was not tried here",
        "cbc": LINEAR,
        "glop": LINEAR,
        "glpk": LINEAR,
        "glpk_mi": LINEAR,
        "pdlp": f"{LINEAR}; importing its package, ortools, beside the others ended the process",
        "scipy": LINEAR,
        "cuclarabel": GPU,
        "cuopt": GPU,
        "mpax": GPU,
        "pdcs": GPU,
        "cosmo": "a Julia package behind a Python bridge",
        "diffcp": "differentiates what scs or clarabel solve; it solves nothing itself",
    }
)
"""Reasons by CVXPY's names in small letters."""
