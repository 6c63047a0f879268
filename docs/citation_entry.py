"""The BibTeX entry of the package, from CITATION.cff."""

from pathlib import Path

import yaml

CITATION = Path(__file__).parents[1] / "CITATION.cff"


def software_citation() -> str:
    """The entry, as a block of code."""
    known = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    authors = " and ".join(f"{{{author['name']}}}" for author in known["authors"])
    entry = {"title": known["title"], "author": authors, "version": known["version"]}
    fields = ",\n".join(f"  {name:<7} = {{{value}}}" for name, value in entry.items())
    return f"```bibtex\n@software{{propcvx,\n{fields}\n}}\n```"
