"""The paper's results, each a function that returns what is computed and what it has to be."""
