"""The studies: finished cells are measured once."""

import pytest
import study


def test_interrupted_study_keeps_finished_cells(tmp_path):
    cells = [{"split": s, "epsilon": e} for s, e in ((0, 0.0), (0, 0.125), (1, 0.0))]
    path, measured = tmp_path / "rows.csv", []

    def measure(split, epsilon):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append({"split": split, "epsilon": epsilon})
        return [{"name": name, "value": split + 0.5} for name in "ab"]

    with pytest.raises(KeyboardInterrupt):
        study.complete(path, cells, measure)
    rows = study.complete(path, cells, lambda **cell: measured.append(cell) or [{"name": "c"}])
    assert measured == cells
    assert list(rows.name) == ["a", "b", "a", "b", "c"]
