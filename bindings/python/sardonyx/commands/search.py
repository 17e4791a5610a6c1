"""Searches for layers to leave in float until a target is met."""
import itertools
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
    as small as can be. Then other layers are tried, those that add most noise for the time they save; the choice that
    costs less time stays. Of it, layers are quantized again if the target allows, those that save most time for their
    noise first: as many at once as seem to fit, and where none do, in groups for which evaluations suffice."""
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
        budget = _Budget(order, gains, costs or {}, wanted, result)
        budget.try_by_time(result, attempt, limit)
        _quantize_again(result, budget, attempt, limit)
    return result


class _Budget:
    """What a choice of layers costs in time and seems to leave of noise. The noise that a layer adds to the output is
    guessed from its cost: all that are float now took away the difference to the start."""

    def __init__(self, order, gains, costs, wanted, result):
        self._wanted = None if wanted is None else _noise(wanted)
        self._gains = {name: max(gains.get(name, 0.0), 0.0) for name in order}
        taken = _noise(result.tried[0].sqnr) - self._now(result)
        total = sum(costs.get(name, 0.0) for name in result.found)
        share = taken / total if total > 0 and 0 < taken < math.inf else 1.0
        self._adds = {name: costs.get(name, 0.0) * share for name in order}
        least = max(self._adds.values()) * 1e-6 or 1.0  # a layer without noise is not infinitely much better
        self._merits = {name: self._gains[name] / max(self._adds[name], least) for name in order}
        self._doubt = 1.0

    def _now(self, result):
        return min((_noise(step.sqnr) for step in result.tried if step.is_met and step.left == len(result.found)),
                   default=math.inf)

    def _time(self, names):
        return sum(self._gains[name] for name in names)

    def by_merit(self, names):
        """Those that save most time for their noise first."""
        return sorted(names, key=lambda name: -self._merits[name])

    def try_by_time(self, result, attempt, limit):
        """Up to three choices of the layers with the least merit, with ever less noise by the guess."""
        if self._wanted is None or not any(self._gains.values()):
            return
        for allowed in (0.9, 0.6, 0.4):
            ranked = self.by_merit(self._adds)
            sums = itertools.accumulate(self._adds[name] for name in ranked)
            names = ranked[sum(noise <= self._wanted * allowed for noise in sums):]
            if not names or len(result.tried) >= limit or self._time(names) >= self._time(result.found):
                return
            if attempt(names, f"{len(names)} that add most noise for the time they save in float"):
                result.found = names
                return

    def fitting(self, waiting, result):
        """Those that together seem to leave the target met."""
        if self._wanted is None:
            return []
        rest, chosen = self._wanted - self._now(result), []
        for name in waiting:
            added = self._adds[name] * self._doubt
            if added <= rest:
                chosen.append(name)
                rest -= added
        return chosen

    def doubt(self):
        """Layers that seemed to fit did not."""
        self._doubt *= 2


def _quantize_again(result, budget, attempt, limit):
    waiting = budget.by_merit(result.found)
    while waiting and len(result.found) > 1 and len(result.tried) < limit:
        fitting = budget.fitting(waiting, result)
        group = (fitting or waiting[:math.ceil(len(waiting) / (limit - len(result.tried)))])[:len(result.found) - 1]
        fewer = [one for one in result.found if one not in group]
        is_met = attempt(fewer, f"{group[0]} back in integers" if len(group) == 1 else
                         f"{len(group)} back in integers: {group[0]} ...")
        if is_met:
            result.found = fewer
        if len(fitting) > 1 and not is_met:
            budget.doubt()
        else:
            waiting = [one for one in waiting if one not in group]


def _noise(sqnr):
    """As a share of the signal."""
    return 10 ** (-sqnr / 10) if math.isfinite(sqnr) else math.inf if sqnr < 0 else 0.0
