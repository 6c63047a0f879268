"""Algorithm 1 of the paper, alter-pSVM, and the same loop with expected labels."""
