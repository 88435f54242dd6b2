"""The optimisation problems of NN-PA and NN-APA, solved by a general solver."""

import numpy as np
from scipy.optimize import minimize

from core.kernels.passive_aggressive import PA, PA1


def solve(u, x, rating, eps, metric, rule, c, *, non_negative):
    """Return the z that minimises 1/2 |z - u|_G^2 + C slack (PA: no slack; PA-II: slack squared).

    Subject to |z.x - rating| <= eps + slack [NN-APA, eq. 4 and below 9].
    """
    size = u.size
    power = 1 if rule == PA1 else 2
    price = 0.0 if rule == PA else c

    def cost(z):
        return 0.5 * (z[:size] - u) @ metric @ (z[:size] - u) + price * z[size] ** power

    def slope(z):
        return np.append(metric @ (z[:size] - u), price * power * z[size] ** (power - 1))

    normal = np.append(x, 0.0)
    slack = np.append(np.zeros(size), 1.0)
    sides = [
        {
            "type": "ineq",
            "fun": lambda z: rating + eps + z[size] - z[:size] @ x,
            "jac": lambda z: slack - normal,
        },
        {
            "type": "ineq",
            "fun": lambda z: z[:size] @ x - rating + eps + z[size],
            "jac": lambda z: slack + normal,
        },
    ]
    own = (0.0, None) if non_negative else (None, None)
    slack_bounds = (0.0, 0.0) if rule == PA else (0.0, None)
    start = np.append(u, 0.0 if rule == PA else max(abs(u @ x - rating) - eps, 0.0))
    found = minimize(
        cost,
        start,
        jac=slope,
        constraints=sides,
        bounds=[own] * size + [slack_bounds],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x[:size]
