"""Algorithm 1 of the paper, alter-pSVM: the loop, and the parts that it receives."""
