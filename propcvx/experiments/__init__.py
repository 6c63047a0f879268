"""The experiments of the paper, run by the command line."""
