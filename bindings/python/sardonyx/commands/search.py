"""Searches for layers to leave in float until a target is met."""
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


def search(order, gains, evaluate, meets, limit, start):
    """A Search. `order`: layers by what they cost, the most first; `gains`: milliseconds that integers save, by layer;
    `evaluate(names)`: the Accuracy with these layers in float; `meets(accuracy)`; `limit`: evaluations at most.
    `start`: the Accuracy without any, which counts as one.

    First ever more layers are left, 1, 2, 4 ..., until the target is met; then the number is halved in until it is as
    small as can be; then each layer, those that save most time first, is quantized again if the target allows."""
    result = Search([Step(0, start.sqnr, start.agreement, meets(start), "all layers in integers")])

    def attempt(names, what):
        accuracy = evaluate(names)
        result.tried.append(Step(len(names), accuracy.sqnr, accuracy.agreement, meets(accuracy), what))
        return result.tried[-1].is_met

    if result.tried[0].is_met:
        result.found = []
        return result
    fails, count = 0, 1
    most = len(order) - 1  # all of them would be the float model
    while len(result.tried) < limit and count <= most:
        if attempt(order[:count], f"the {count} that cost most in float" if count > 1 else
                   f"the one that costs most in float: {order[0]}"):
            result.found = order[:count]
            break
        fails, count = count, min(2 * count, most) if count < most else most + 1
    if result.found is None:
        return result
    while len(result.tried) < limit and len(result.found) - fails > 1:
        middle = (fails + len(result.found)) // 2
        if attempt(order[:middle], f"the {middle} that cost most in float"):
            result.found = order[:middle]
        else:
            fails = middle
    for name in sorted(result.found, key=lambda one: -gains.get(one, 0.0)):
        if len(result.tried) >= limit or len(result.found) == 1:
            break
        fewer = [one for one in result.found if one != name]
        if attempt(fewer, f"{name} back in integers"):
            result.found = fewer
    return result
