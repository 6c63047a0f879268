"""Studies: many small cells, each kept as rows of a CSV file, then a table and a picture."""

from propcvx.experiments.studies.draws import study_draws
from propcvx.experiments.studies.roundings import study_roundings
from propcvx.experiments.studies.search import study_search
from propcvx.experiments.studies.signs import study_signs
from propcvx.experiments.studies.starts import study_starts
from propcvx.experiments.studies.truth import study_truth

STUDIES = {
    "draws": study_draws,
    "roundings": study_roundings,
    "search": study_search,
    "signs": study_signs,
    "starts": study_starts,
    "truth": study_truth,
}
"""Studies by name: ``study(folder, splits, quick)`` gives the path of its picture."""

__all__ = [
    "STUDIES",
    "study_draws",
    "study_roundings",
    "study_search",
    "study_signs",
    "study_starts",
    "study_truth",
]
