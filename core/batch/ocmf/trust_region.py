"""Minimise a smooth convex function from its gradient and its Hessian-vector products.

``trust_region_newton`` is the method of Lin, Weng and Keerthi (2008). ``gradient_descent`` steps
along the negative gradient to the exact minimum of the line. Both see the function only through the
protocols below.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

# thresholds for accepting a step, and factors of the radius after it
ACCEPT, FAIR, GOOD = 1e-4, 0.25, 0.75
SHRINK, MODEST, GROW = 0.25, 0.5, 4.0
CG_TOLERANCE = 0.1
STALLED = 1e-12
LINE_STEPS = 50


class Line(Protocol):
    """The function along a direction from a point."""

    def value(self, step: float) -> float: ...

    def slopes(self, step: float) -> tuple[float, float]:
        """Return the first and second derivatives with respect to the step."""
        ...


class Point(Protocol):
    """The function at one place; costly parts are computed when needed."""

    @property
    def value(self) -> float: ...

    def gradient(self) -> Floats: ...

    def hessian_product(self, direction: Floats) -> Floats: ...

    def line(self, direction: Floats) -> Line: ...


class Objective(Protocol):
    """A smooth convex function of an array."""

    def at(self, place: Floats) -> Point: ...

    def precondition(self, residual: Floats) -> Floats:
        """Return C^-1 r for a fixed positive definite C close to the Hessian.

        C may be the identity.
        """
        ...


@dataclass(frozen=True)
class Minimum:
    """The place where a minimiser stopped, with the size of the gradient and the work done."""

    place: Floats
    value: float
    gradient_norm: float
    steps: int
    products: int
    """Hessian-vector products."""


def trust_region_newton(
    objective: Objective,
    start: Floats,
    *,
    steps: int = 100,
    cg_steps: int = 100,
    tolerance: float = 1e-4,
) -> Minimum:
    """Take Newton steps in a trust region until the gradient has fallen to a share ``tolerance``.

    A refused step shrinks the radius and does not count. Lengths are measured by the preconditioner
    C: the square of a step's is s'Cs, that of a gradient's is g'C^-1 g.
    """
    place, point = start, objective.at(start)
    gradient = point.gradient()
    norm = first_norm = _dual_norm(objective, gradient)
    radius, taken, products = norm, 0, 0
    while taken < steps and norm > tolerance * first_norm:
        step, residual, length, used = _inner(objective, point, gradient, radius, cg_steps)
        products += used
        downhill = _dot(gradient, step)
        trial = objective.at(place + step)
        predicted = -0.5 * (downhill - _dot(step, residual))
        # refuse a step to a value that is not finite, whatever was predicted
        actual = point.value - trial.value if np.isfinite(trial.value) else -np.inf
        if taken == 0:
            radius = min(radius, length)
        radius = _radius(radius, length, actual, predicted, downhill)
        if actual > ACCEPT * predicted:
            place, point, taken = place + step, trial, taken + 1
            gradient = point.gradient()
            norm = _dual_norm(objective, gradient)
        change = max(predicted, abs(actual) if np.isfinite(actual) else 0.0)
        is_stalled = change <= STALLED * abs(point.value)
        if is_stalled or not predicted > 0.0:
            break
    return Minimum(place, point.value, norm, taken, products)


def _dual_norm(objective: Objective, gradient: Floats) -> float:
    return float(np.sqrt(_dot(gradient, objective.precondition(gradient))))


def _radius(
    radius: float, length: float, actual: float, predicted: float, downhill: float
) -> float:
    """Return the next radius: the better the quadratic model predicted the change, the larger."""
    excess = -actual - downhill
    scale = GROW if excess <= 0.0 else max(SHRINK, -0.5 * downhill / excess)
    if actual < ACCEPT * predicted:
        return min(max(scale, SHRINK) * length, MODEST * radius)
    if actual < FAIR * predicted:
        return max(SHRINK * radius, min(scale * length, MODEST * radius))
    if actual < GOOD * predicted:
        return max(SHRINK * radius, min(scale * length, GROW * radius))
    return max(radius, min(scale * length, GROW * radius))


def _inner(
    objective: Objective, point: Point, gradient: Floats, radius: float, cg_steps: int
) -> tuple[Floats, Floats, float, int]:
    """Solve H s = -g by preconditioned conjugate gradients inside the radius.

    Returns s, the residual -g - H s, the length of s and the number of Hessian products. ``cross``
    and ``square`` track s'Cd and d'Cd, so that C itself is never needed.
    """
    step = np.zeros_like(gradient)
    residual = -gradient
    direction = objective.precondition(residual)
    error = _dot(residual, direction)
    enough = CG_TOLERANCE * CG_TOLERANCE * error
    length, cross, square = 0.0, 0.0, error
    for used in range(cg_steps):
        if error <= enough:
            return step, residual, np.sqrt(length), used
        image = point.hessian_product(direction)
        curvature = _dot(direction, image)
        if curvature <= 0.0:  # only by rounding, since f is convex
            return step, residual, np.sqrt(length), used + 1
        alpha = error / curvature
        if length + alpha * (2.0 * cross + alpha * square) > radius * radius:
            alpha = _to_boundary(length, cross, square, radius)
            return step + alpha * direction, residual - alpha * image, radius, used + 1
        step = step + alpha * direction
        residual = residual - alpha * image
        length += alpha * (2.0 * cross + alpha * square)
        conditioned = objective.precondition(residual)
        previous, error = error, _dot(residual, conditioned)
        beta = error / previous
        cross, square = beta * (cross + alpha * square), error + beta * beta * square
        direction = conditioned + beta * direction
    return step, residual, np.sqrt(length), cg_steps


def _to_boundary(length: float, cross: float, square: float, radius: float) -> float:
    """Return t >= 0 with |s + t d| = radius, given s'Cs = ``length``, s'Cd and d'Cd."""
    room = radius * radius - length
    root = np.sqrt(cross * cross + square * room)
    return float(room / (cross + root) if cross >= 0.0 else (root - cross) / square)


def gradient_descent(
    objective: Objective, start: Floats, *, steps: int = 100, tolerance: float = 1e-4
) -> Minimum:
    """Take steps along the negative gradient, each to the minimum of the line."""
    place, point = start, objective.at(start)
    gradient = point.gradient()
    norm = first_norm = _norm(gradient)
    taken = 0
    while taken < steps and norm > tolerance * first_norm:
        length = exact_step(point.line(-gradient))
        if length == 0.0:
            break
        place = place - length * gradient
        point = objective.at(place)
        gradient = point.gradient()
        norm = _norm(gradient)
        taken += 1
    return Minimum(place, point.value, norm, taken, 0)


def exact_step(line: Line) -> float:
    """Return the step that minimises a convex line, by Newton's method inside a bracket."""
    slope, curvature = line.slopes(0.0)
    if slope >= 0.0 or curvature <= 0.0:
        return 0.0
    first_slope, low, high = slope, 0.0, np.inf
    step = -slope / curvature
    for _ in range(LINE_STEPS):
        slope, curvature = line.slopes(step)
        if abs(slope) <= 1e-6 * abs(first_slope):
            break
        low, high = (step, high) if slope < 0.0 else (low, step)
        newton = step - slope / curvature if curvature > 0.0 else np.inf
        outside = 2.0 * step if high == np.inf else 0.5 * (low + high)
        step = newton if low < newton < high else outside
    return float(step)


def _dot(left: Floats, right: Floats) -> float:
    return float(np.vdot(left, right))


def _norm(values: Floats) -> float:
    return float(np.sqrt(np.vdot(values, values)))
