"""Algorithm 1 of the paper, alter-pSVM: the loop, whose parts are arguments."""
