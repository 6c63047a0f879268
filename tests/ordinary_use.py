"""A script as a user writes it; tests/project/test_light.py runs its steps, warnings as errors."""

import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propcvx import AlterPropSVM, BagKFold, bag_target
from propcvx.datasets import bag_proportions, random_bags

FEATURES = ["age", "income", "rent", "distance"]


def train(folder):
    """One row per person: features, precinct, and the vote, which is for judging only."""
    X, codes = make_classification(96, 4, class_sep=1.5, random_state=0)
    frame = pd.DataFrame(X, columns=FEATURES).assign(vote=np.where(codes > 0, 1, -1))
    frame["precinct"] = random_bags(frame["vote"], bag_size=8, random_state=0)
    shares = pd.Series(bag_proportions(frame["vote"], frame["precinct"]))
    y = bag_target(frame["precinct"], shares)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), AlterPropSVM(n_init=2, random_state=0)),
        {"alterpropsvm__C": [0.1, 1.0]},
        cv=BagKFold(2, random_state=0),
    )
    search.fit(frame[FEATURES], y)
    right = search.score(frame[FEATURES], frame["vote"])
    calibrated = CalibratedClassifierCV(FrozenEstimator(search.best_estimator_))
    calibrated.fit(frame[FEATURES], frame["vote"])
    likely = calibrated.predict_proba(frame[FEATURES])[:, 1] > 0.5
    joblib.dump(search.best_estimator_, folder / "model.joblib")
    frame.to_csv(folder / "people.csv", index=False)
    np.save(folder / "predicted.npy", search.predict(frame[FEATURES]))
    if min(right, np.mean(likely == (frame["vote"] > 0))) < 0.8:
        sys.exit(f"the model has learned nothing: {right:.0%} right")


def predict(folder):
    """In a process of its own, which knows no more than the files."""
    model = joblib.load(folder / "model.joblib")
    frame = pd.read_csv(folder / "people.csv")
    if not np.array_equal(model.predict(frame[FEATURES]), np.load(folder / "predicted.npy")):
        sys.exit("the loaded model predicts something else")


if __name__ == "__main__":
    step, folder = sys.argv[1:]
    {"train": train, "predict": predict}[step](Path(folder))
