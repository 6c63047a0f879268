"""Section 6: the tables, from published results of ``python -m reproduction run``."""

import report_tables

from propcvx.datasets import load_real


def table_1(largest=5000):
    """The data sets have the sizes that the paper prints.

    Notes
    -----
    **Problem.** Twelve real data sets, from their publishers.

    **Method.** :func:`propcvx.datasets.load_real` reads each file, whose hash is checked.

    **Guaranteed.** The numbers of instances and of attributes are the printed ones.
    ``table_1(300_000)`` reads cod-rna.t, too, which takes seconds.

    **Reference.** Table 1, ``table:datasets``.

    Examples
    --------
    >>> table_1(largest=0)  # none
    ([], [])
    """
    printed = {"heart": (270, 13), "heart-c": (303, 13), "colic": (366, 22), "vote": (435, 16)}
    printed |= {"breast-cancer": (683, 10), "australian": (690, 14), "credit-a": (690, 15)}
    printed |= {"breast-w": (699, 9), "a1a": (1605, 119), "dna": (2000, 180)}
    printed |= {"satimage": (4435, 36), "cod-rna.t": (271617, 8)}
    names = [name for name, (n_instances, _) in printed.items() if n_instances <= largest]
    computed = [load_real(name, download=False).X.shape for name in names]
    return computed, [printed[name] for name in names]


def mean_accuracies(experiment, methods, bag_sizes):
    """Our and the printed accuracies in percent, as means over the data sets."""
    entries = report_tables.entries_of(experiment, done=True)
    chosen = entries[entries["method"].isin(methods) & entries["bag_size"].isin(bag_sizes)]
    means = chosen.groupby(["method", "bag_size"])[["accuracy", "print"]].mean().round(2)
    return means["accuracy"].tolist(), means["print"].tolist()


def table_2(bag_sizes=(2, 4, 8, 16)):
    """The accuracies of the pSVMs with the linear kernel, bags of 2 to 16.

    Notes
    -----
    **Problem.** Seven real data sets in random bags; parameters are chosen without labels.

    **Method.** ``python -m reproduction run table-linear``, as means over the data sets: alter-pSVM
    for each size of bags, then conv-pSVM.

    **Guaranteed.** Within 1.5% of the printed means. With bags of 32 and 64 they are not reached:
    four to six points are missing, and the page on the experiments says what is known of why.

    **Reference.** Table 2, ``tb:linear``.

    Examples
    --------
    >>> computed, printed = table_2(bag_sizes=[2])
    >>> printed
    [90.48, 89.42]
    """
    return mean_accuracies("table-linear", ["alter-pSVM", "conv-pSVM"], bag_sizes)


def table_3(bag_sizes=(2048, 4096, 8192)):
    """The accuracies on cod-rna.t in large bags are not reached with the printed grids.

    Notes
    -----
    **Problem.** 271,617 instances in random bags of thousands, linear kernel.

    **Method.** ``python -m reproduction run table-large``: InvCal for each size of bags, then
    alter-pSVM.

    **Guaranteed.** Nothing: with the paper's grids and random starts the accuracies are far below
    the printed ones. InvCal needs a larger ``C_p`` than the printed grid has, and alter-pSVM a
    start from InvCal's labels.

    **Reference.** Table 3, ``tb:large``.

    Examples
    --------
    >>> computed, printed = table_3(bag_sizes=[2048])
    >>> printed
    [88.79, 90.32]
    """
    return mean_accuracies("table-large", ["InvCal", "alter-pSVM"], bag_sizes)


def table_4(bag_sizes=(2, 4, 8, 16)):
    """The accuracies of the pSVMs with the Gaussian kernel, bags of 2 to 16.

    Notes
    -----
    **Problem.** Seven real data sets in random bags; parameters are chosen without labels.

    **Method.** ``python -m reproduction run table-rbf``, as means over the data sets: alter-pSVM
    for each size of bags, then conv-pSVM.

    **Guaranteed.** Within 2% of the printed means. With bags of 32 and 64 they are not reached:
    four to seven points are missing.

    **Reference.** Table 4, ``tb:rbf``.

    Examples
    --------
    >>> computed, printed = table_4(bag_sizes=[2])
    >>> printed
    [91.16, 89.8]
    """
    return mean_accuracies("table-rbf", ["alter-pSVM", "conv-pSVM"], bag_sizes)
