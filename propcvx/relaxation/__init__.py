"""Algorithm 2 of the paper, conv-pSVM, and its relatives: the loop, and what it receives."""
