"""The size up to which semidefinite programs are set out on."""

from propcvx.checks import check_count
from propcvx.errors import InputError


def check_order(order: int, most: int) -> None:
    """Check that a semidefinite matrix is not too large to begin with.

    Raises
    ------
    InputError
        If its order is above ``max_order``; the message says what takes that size.
    """
    if order > check_count("max_order", most):
        raise InputError(
            f"a semidefinite matrix of order {order} is above max_order={most}; "
            "relaxation='cutting_planes' takes any size, and a larger max_order takes this one, "
            "in time that grows with the third power of the order."
        )
