"""Searches for layers to leave in float until a target is met."""
import math
from dataclasses import dataclass, field


@dataclass
class Step:
    """One evaluation: how many layers were float, and what came out."""

    left: int
    sqnr: float
    agreement: float | None
    is_met: bool
    what: str


@dataclass
class Search:
    """`tried` has all evaluations; `found`, the names of the layers to leave, is None if no choice met the target."""

    tried: list = field(default_factory=list)
    found: list | None = None


class _Counts:
    """Which number of layers, the first in order, to leave next. `costs`: the noise that each layer adds; that of the
    output is taken to grow with the sum of the costs of those that are quantized. `wanted`: the noise that the target
    allows, None where it says nothing of noise; `noise`: what there is without any layer in float."""

    def __init__(self, costs, wanted, noise):
        self._rests = [0.0]  # by number of layers in float
        for cost in reversed(costs):
            self._rests.insert(0, self._rests[0] + cost)
        self._wanted, self._most = wanted, len(costs) - 1  # all of them would be the float model
        self._fails, self._noise = 0, noise  # the most that failed
        self._met, self._low, self._width = None, 0.0, math.inf  # the fewest that met the target

    def next(self):
        """None if nothing is left to try."""
        if self._met is None:
            count = min(max(self._predicted() or 0, 2 * self._fails, 1), self._most)
            return count if count > self._fails else None
        width = self._met - self._fails
        if width <= 1:
            return None
        guess = self._predicted() if 2 * width <= self._width else None  # halving where guesses do not get near
        self._width = width
        return (self._fails + self._met) // 2 if guess is None else min(max(guess, self._fails + 1), self._met - 1)

    def tell(self, count, is_met, noise):
        if is_met:
            self._met, self._low = count, noise
        else:
            self._fails, self._noise = count, noise

    def _predicted(self):
        """The number on the line through what is known, None where there is no line."""
        rests, end = self._rests, len(self._rests) - 1 if self._met is None else self._met
        if self._wanted is None or not (self._low < self._wanted < self._noise < math.inf):
            return None
        share = (self._wanted - self._low) / (self._noise - self._low)
        allowed = rests[end] + (rests[self._fails] - rests[end]) * share
        return next(count for count, rest in enumerate(rests) if rest <= allowed)


def search(order, gains, evaluate, meets, limit, start, costs=None, wanted=None):
    """A Search. `order`: layers by what they cost, the most first; `gains`: milliseconds that integers save, by layer;
    `evaluate(names)`: the Accuracy with these layers in float; `meets(accuracy)`; `limit`: evaluations at most.
    `start`: the Accuracy without any, which counts as one. `costs`: the noise that layers add, by layer, and `wanted`:
    the least SQNR, in dB, tell how many layers are tried first.

    First ever more layers are left, at least twice as many each time, until the target is met; then the number is made
    as small as can be; then layers, those that save most time first, are quantized again if the target allows: one at a
    time if evaluations suffice, otherwise in groups."""
    result = Search([Step(0, start.sqnr, start.agreement, meets(start), "all layers in integers")])

    def attempt(names, what):
        accuracy = evaluate(names)
        result.tried.append(Step(len(names), accuracy.sqnr, accuracy.agreement, meets(accuracy), what))
        return result.tried[-1].is_met

    if result.tried[0].is_met:
        result.found = []
        return result
    counts = _Counts([(costs or {}).get(name, 0.0) for name in order], None if wanted is None else _noise(wanted),
                     _noise(start.sqnr))
    while len(result.tried) < limit and (count := counts.next()) is not None:
        is_met = attempt(order[:count], f"the {count} that cost most in float" if count > 1 else
                         f"the one that costs most in float: {order[0]}")
        counts.tell(count, is_met, _noise(result.tried[-1].sqnr))
        if is_met:
            result.found = order[:count]
    if result.found:
        _quantize_again(result, gains, attempt, limit)
    return result


def _quantize_again(result, gains, attempt, limit):
    waiting = sorted(result.found, key=lambda one: -gains.get(one, 0.0))
    while waiting and len(result.found) > 1 and len(result.tried) < limit:
        size = min(math.ceil(len(waiting) / (limit - len(result.tried))), len(result.found) - 1)
        group, waiting = waiting[:size], waiting[size:]
        fewer = [one for one in result.found if one not in group]
        if attempt(fewer, f"{group[0]} back in integers" if size == 1 else f"{size} back in integers: {group[0]} ..."):
            result.found = fewer


def _noise(sqnr):
    """As a share of the signal."""
    return 10 ** (-sqnr / 10) if math.isfinite(sqnr) else math.inf if sqnr < 0 else 0.0
