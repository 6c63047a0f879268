"""Write people.csv and shares.csv of "From a CSV and a table of shares": invented people."""

from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
REGIONS = ["coast", "hills", "plain", "city"]
EDUCATION = ["school", "apprenticeship", "degree"]


def referendum(n_districts=50, per_district=40):
    """People with their votes, which depend on age, income and education, and on much else."""
    random = np.random.RandomState(0)
    district = np.repeat(np.arange(n_districts), per_district)
    older, learned = random.normal(size=(2, n_districts))[:, district]
    age = np.clip(48.0 + 7.0 * older + random.normal(0.0, 15.0, len(district)), 18, 95)
    score = 0.8 * learned + random.normal(size=len(district))
    education = np.digitize(score, [-0.6, 0.7])
    income = np.exp(10.2 + 0.25 * education + random.normal(0.0, 0.4, len(district)))
    slope = 0.8 - 0.05 * (age - 48.0) + 0.9 * (education - 1) + 0.6 * (np.log(income) - 10.5)
    vote = random.uniform(size=len(district)) < 1.0 / (1.0 + np.exp(-slope))
    income = np.where(random.uniform(size=len(district)) < 0.08, np.nan, income.round(-2))
    reads = random.uniform(size=len(district)) < 1.0 / (1.0 + np.exp(-1.5 * learned))
    region = np.array(REGIONS)[random.randint(4, size=n_districts)][district]
    return pd.DataFrame(
        {
            "district": [f"D{number + 1:02}" for number in district],
            "region": region,
            "age": age.astype(int),
            "income": income,
            "education": np.array(EDUCATION)[education],
            "newspaper": np.where(reads, "yes", "no"),
            "vote": np.where(vote, 1, -1),
        }
    ).sample(frac=1.0, random_state=0, ignore_index=True)


def tables(people):
    """What is published: people without their votes, and the share of each district."""
    yes = people["vote"].gt(0).groupby(people["district"]).mean().rename("share_yes")
    return people.drop(columns="vote"), yes.reset_index()


if __name__ == "__main__":
    people, shares = tables(referendum())
    people.to_csv(HERE / "people.csv", index=False)
    shares.to_csv(HERE / "shares.csv", index=False)
