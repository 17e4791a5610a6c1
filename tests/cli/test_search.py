"""The search of `sardonyx quantize` for layers to leave in float, on layers whose noise is known."""
import math
import random
import types

import pytest
from sardonyx.commands.search import search


class Network:
    """Layers that each add noise to the output; what they seem to cost is off by a factor."""

    def __init__(self, count, seed, spread=0.7):
        chance = random.Random(seed)
        self.noise = {f"layer{index}": math.exp(chance.gauss(0, 1.5)) for index in range(count)}
        self.costs = {name: noise * math.exp(chance.gauss(0, spread)) for name, noise in self.noise.items()}
        self.order = sorted(self.costs, key=lambda name: -self.costs[name])
        self.scale = 0.05 / sum(self.noise.values())
        self.asked = []

    def evaluate(self, names):
        self.asked.append(list(names))
        noise = sum(one for name, one in self.noise.items() if name not in names) * self.scale
        return types.SimpleNamespace(sqnr=-10 * math.log10(noise) if noise else math.inf, agreement=1 - noise)

    def search(self, target, limit=30, gains=None, **arguments):
        return search(self.order, gains or {}, self.evaluate, lambda one: one.sqnr >= target, limit, self.evaluate([]),
                      **arguments)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [2, 7, 54, 200])
@pytest.mark.parametrize("wanted", [13.5, 16, 20, 25])
def test_the_fewest_of_the_first_layers_are_found(count, seed, wanted):
    """Without the layers that are quantized again afterwards: no number below does, and few are tried."""
    net = Network(count, seed)
    found = net.search(wanted, limit=1000, costs=net.costs, wanted=wanted)
    prefixes = [step for step in found.tried if "cost" in step.what]
    met = [step.left for step in prefixes if step.is_met]
    enough = [left for left in range(1, count) if net.evaluate(net.order[:left]).sqnr >= wanted]
    assert (min(met) if met else None) == (min(enough) if enough else None)
    assert len({step.left for step in prefixes}) == len(prefixes) <= 2 * math.log2(count) + 1
    assert (found.found is None) == (not enough)
    if found.found:
        assert net.evaluate(found.found).sqnr >= wanted and len(found.found) <= min(enough)


def test_costs_save_evaluations():
    def prefixes(is_guided):
        nets = [Network(100, seed) for seed in range(10)]
        found = [net.search(20, 60, **({"costs": net.costs, "wanted": 20} if is_guided else {})) for net in nets]
        return sum("cost" in step.what for one in found for step in one.tried)
    assert prefixes(True) < 0.7 * prefixes(False)


def test_layers_are_quantized_again_in_groups_where_evaluations_are_few():
    """Most of the layers that seem to cost much and add nothing are in integers at the end."""
    net = Network(60, 1)
    harmless = net.order[:24]
    net.noise.update(dict.fromkeys(harmless, 0.0))
    wanted = net.evaluate(net.order[:40]).sqnr
    gains = dict.fromkeys(net.order, 1.0) | {name: float(index) for index, name in enumerate(harmless)}
    found = net.search(wanted, limit=30, gains=gains, costs=net.costs, wanted=wanted)
    assert len(found.tried) <= 30 and net.evaluate(found.found).sqnr >= wanted
    again = [step for step in found.tried if "back in integers" in step.what]
    assert any(step.is_met and step.what[0].isdigit() for step in again)
    assert len(set(harmless) & set(found.found)) <= 6 and len(found.found) <= 22


def test_layers_that_save_little_time_for_their_noise_stay_in_float():
    """Layers whose time and noise have nothing to do with each other: the time that is lost lies near the least that
    any choice loses, which the order by noise alone is far from."""
    lost = by_noise = least = 0.0
    for seed in range(8):
        net = Network(60, seed, spread=0.3)
        chance = random.Random(seed)
        gains = {name: math.exp(chance.gauss(0, 1.5)) for name in net.order}
        found = net.search(17, limit=30, gains=gains, costs=net.costs, wanted=17)
        assert net.evaluate(found.found).sqnr >= 17 and len(found.tried) <= 30
        first = net.order[:min(step.left for step in found.tried if "cost" in step.what and step.is_met)]
        assert sum(gains[name] for name in found.found) <= sum(gains[name] for name in first)
        lost += sum(gains[name] for name in found.found)
        by_noise += sum(gains[name] for name in first)
        rest = 10**-1.7 / net.scale
        for name in sorted(net.order, key=lambda name: -gains[name] / net.noise[name]):
            share = min(1.0, rest / net.noise[name])  # parts of layers, too, so that no choice loses less
            least, rest = least + (1 - share) * gains[name], rest - share * net.noise[name]
    assert lost <= 0.65 * by_noise and lost <= 2 * least


@pytest.mark.parametrize("limit", [1, 2, 3, 8])
def test_no_more_evaluations_than_allowed(limit):
    net = Network(40, 2)
    found = net.search(25, limit=limit, costs=net.costs, wanted=25)
    assert len(found.tried) == len(net.asked) <= limit
    assert found.found is None or net.evaluate(found.found).sqnr >= 25


def test_a_target_that_is_met_at_once_and_noise_that_is_not_finite():
    net = Network(5, 3)
    assert net.search(10, costs=net.costs, wanted=10).found == [] and len(net.asked) == 1
    broken = types.SimpleNamespace(sqnr=-math.inf, agreement=0)
    found = search(net.order, {}, lambda names: net.evaluate(names) if len(names) > 2 else broken,
                   lambda one: one.sqnr >= 15, 30, broken, net.costs, 15)
    assert len(found.found) >= 3
