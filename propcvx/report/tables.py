"""Read a file of people and a file of proportions, and say what was recognized."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from propcvx.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SHOWN = 5
"""Number of ids, lines and columns that a message lists."""


@dataclass(frozen=True, eq=False)
class Table:
    """A file as it was read.

    Attributes
    ----------
    path : Path
    data : DataFrame
    call : str
        The call of pandas that reads it.
    notes : list of str
        What was recognized, in sentences.
    """

    path: Path
    data: DataFrame
    call: str
    notes: list[str]

    def column(self, name: str, option: str) -> Series:
        """Return a column, or raise if there is none of that name or a value is missing."""
        if name not in self.data:
            raise InputError(
                f"{option} must be a column of {self.path.name}; got {name!r}. It has "
                f"{', '.join(map(repr, self.data))}."
            )
        values = self.data[name]
        advice = "Fill it in, or remove the row. A cell with NA, None or null is empty, too."
        self.fail_if(values.isna(), values, f"is no {name}", advice)
        return values

    def fail_if(self, wrong: Any, values: Any, fault: str, advice: str) -> None:
        """Raise an error that names file, lines and the first value, if any value is wrong."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            lines = ", ".join(str(row + 2) for row in rows[:SHOWN])
            more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
            first = np.asarray(values)[rows[0]]
            raise InputError(
                f"{self.path.name}, line {lines}{more}: {str(first)!r} {fault}. {advice}"
            )


def read_table(path: Path, *, bag: str) -> Table:
    """Read a CSV file, with ``,`` or ``;`` or tabs and decimal points or commas, or a Parquet file.

    Ids of bags are texts, so that leading zeros stay.

    Raises
    ------
    InputError
        If the file cannot be read, or has no rows or no column of that name.
    """
    import pandas as pd

    if not path.is_file():
        raise InputError(f"{path} must be a file; there is none of that name.")
    if path.suffix == ".parquet":
        data, options, notes = pd.read_parquet(path), "", ["a Parquet file"]
    else:
        data, options, notes = _read_csv(path, bag)
    if bag not in data:
        raise InputError(
            f"--bag must be a column of both files; {path.name} has no {bag!r}. It has "
            f"{', '.join(map(repr, data))}."
        )
    if data.empty:
        raise InputError(f"{path.name} has no rows.")
    name = "parquet" if path.suffix == ".parquet" else "csv"
    notes = [f"{path.name}: {len(data):,} rows; {', '.join(notes)}."]
    Table(path, data, "", notes).column(bag, "--bag")
    objects = [key for key in data if data[key].dtype == object]
    gaps = [key for key in objects if pd.api.types.infer_dtype(data[key]) == "boolean"]
    types = {bag: "str", **dict.fromkeys(data.select_dtypes(bool), "int")}
    types |= dict.fromkeys(gaps, "str")  # True, False and empty cells
    call = f"pd.read_{name}({str(path.absolute())!r}{options}).astype({types})"
    return Table(path, data.astype(types), call, notes)


def _read_csv(path: Path, bag: str) -> tuple[DataFrame, str, list[str]]:
    """Return the table, the options of ``read_csv`` that are not the defaults, and notes."""
    import pandas as pd

    options: dict[str, str] = {}
    settings: dict[str, Any] = {"encoding": "utf-8-sig", "dtype": {bag: str}}
    try:
        header = pd.read_csv(path, sep="\x01", nrows=0, encoding="utf-8-sig").columns[0]
        separator = max(",;\t", key=header.count)
        if separator != ",":
            options["sep"] = separator
        data = pd.read_csv(path, **settings, **options)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name} must be encoded as UTF-8; byte {error.start} is not. Save it as "
            f"UTF-8, or run `iconv -f WINDOWS-1252 -t UTF-8 {path.name} > new.csv`."
        ) from error
    except (pd.errors.EmptyDataError, pd.errors.ParserError, csv.Error) as error:
        raise InputError(f"{path.name} must be a table with a header; {error}.") from error
    words = data.drop(columns=bag, errors="ignore").select_dtypes(exclude=["number", "bool"])
    commas = separator != "," and any(
        words[name].astype(str).str.fullmatch(r"[-+]?\d+,\d+").any() for name in words
    )
    if commas:
        options["decimal"] = ","
        data = pd.read_csv(path, **settings, **options)
    text = "".join(f", {name}={value!r}" for name, value in options.items())
    notes = [f"columns are separated by {separator!r}"] + ["decimal commas"] * commas
    return data, f", encoding='utf-8-sig', dtype={{{bag!r}: str}}{text}", notes


def match_bags(people: Table, bags: Table, bag: str) -> None:
    """Raise an error unless both tables have the same bags, each once in the second."""
    if len(bags.data) < 2:
        raise InputError(f"{bags.path.name} must have at least 2 bags; got {len(bags.data)}.")
    ids, others = people.data[bag], bags.data[bag]
    bags.fail_if(others.duplicated(), others, f"is there twice as {bag}", "Keep one row of each.")
    unknown = ~ids.isin(others)
    advice = f"Add its proportion to {bags.path.name}, or remove its people."
    if set(ids[unknown].str.lstrip("0")) & set(others.str.lstrip("0")):
        advice = "Ids differ by leading zeros: write them alike in both files."
    people.fail_if(unknown, ids, f"is no {bag} of {bags.path.name}", advice)
    fault = f"has no people in {people.path.name}"
    bags.fail_if(~others.isin(ids), others, fault, "Remove the row.")


class Proportions(NamedTuple):
    """Proportions of bags, as the script computes them.

    Attributes
    ----------
    code : str
        Expression in the table ``bags``.
    half_unit : float
        Half a unit of the last published digit; 0 for counts.
    note : str
        What was recognized.
    """

    code: str
    half_unit: float
    note: str


def read_counts(bags: Table, count: str, total: str) -> Proportions:
    """Return the proportions of counts in totals."""
    counts, totals = (
        _numbers(bags, name, bags.column(name, option))
        for name, option in ((count, "--count"), (total, "--total"))
    )
    bags.fail_if(totals <= 0, totals, f"is no positive {total}", "Remove the row.")
    wrong = (counts < 0) | (counts > totals)
    bags.fail_if(wrong, counts, f"is not from 0 to {total}", "Exchange --count and --total?")
    check_varied(bags, counts / totals)
    note = f"Proportions are {count!r} divided by {total!r}."
    return Proportions(f"bags[{count!r}] / bags[{total!r}]", 0.0, note)


def read_proportions(bags: Table, name: str) -> Proportions:
    """Return proportions from a column of numbers in [0, 1], or of percentages."""
    values, code = bags.column(name, "--proportion"), f"bags[{name!r}]"
    signs = values.astype(str).str.strip().str.endswith("%")
    if signs.any():
        bags.fail_if(~signs, values, "has no percent sign, but others have", "Write all alike.")
        code += ".str.rstrip(' %').str.replace(',', '.').astype(float)"
        values = values.str.rstrip(" %").str.replace(",", ".")
    texts, numbers = values.astype(str), _numbers(bags, name, values)
    percent = bool(signs.any() or np.median(numbers) > 1.0)
    limit = 100 if percent else 1
    wrong = (numbers < 0) | (numbers > limit)
    bags.fail_if(wrong, numbers, f"is not from 0 to {limit}", f"Correct {name!r}.")
    check_varied(bags, numbers)
    whole = (numbers == numbers.round()).all()  # of floats, pandas writes 52.0 for 52
    digits = 2 * percent + (0 if whole else int(texts.str.partition(".")[2].str.len().max()))
    kind = "percentages" if percent else "proportions"
    note = f"{name!r} has {kind}, rounded to {digits} decimals{' of a proportion' * percent}."
    if not digits:
        note = f"{name!r} is 0 or 1, so no proportion is rounded."
    return Proportions(code + " / 100" * percent, 0.5 * 10.0**-digits if digits else 0.0, note)


def check_varied(bags: Table, proportions: Any) -> None:
    """Raise an error if all proportions are equal."""
    if np.ptp(proportions) == 0.0:
        raise InputError(
            f"{bags.path.name} must have at least two different proportions; all are "
            f"{np.ravel(proportions)[0]:g}. Equal proportions do not identify how classes differ."
        )


def _numbers(bags: Table, name: str, values: Any) -> Any:
    """Convert values to numbers, or raise an error with the lines that have none."""
    from pandas import to_numeric

    numbers = to_numeric(values, errors="coerce")
    advice = f"Write {name} as 0.25, 25% or 25."
    bags.fail_if(numbers.isna(), values, "is not a number", advice)
    return numbers
