"""Bags for studies: generators, and the data sets of the paper."""
