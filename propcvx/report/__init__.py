"""From two files, people and proportions, to a report: ``propcvx report``."""
