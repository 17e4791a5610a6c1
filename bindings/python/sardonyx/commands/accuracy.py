"""How far a model's outputs are from those of the original: signal to noise, and agreement of the largest element."""
import math
from dataclasses import dataclass, field

import numpy as np

from sardonyx.commands.failure import Failure, library_message

_FLOATS = ("tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)")


@dataclass
class Accuracy:
    """`sqnr`: of all compared outputs, in dB; `agreement`: the share of places where the largest element is the same,
    None where no output has such; `by_output`: sqnr of each; `not_finite`: outputs that have NaN or infinity here, and
    not in the original."""

    sqnr: float
    agreement: float | None
    by_output: dict = field(default_factory=dict)
    not_finite: list = field(default_factory=list)
    other_shapes: list = field(default_factory=list)  # outputs that have other shapes than in the original


class Noise:
    """Sums of a signal's squares and of those of what was added to it."""

    def __init__(self):
        self.signal = self.noise = 0.0

    def add(self, exact, other):
        exact, other = np.asarray(exact, np.float64), np.asarray(other, np.float64)
        kept = np.isfinite(exact)
        if not kept.all():  # infinities mask: where both have the same, there is no noise
            exact, other = exact[kept], other[kept]
        self.signal += float(np.vdot(exact, exact))
        difference = other - exact
        self.noise += float(np.vdot(difference, difference))

    @property
    def share(self):
        """Noise as a share of the signal."""
        return self.noise / self.signal if self.signal else (math.inf if self.noise else 0.0)

    @property
    def sqnr(self):
        return decibels(self.share)


def decibels(share):
    if share != share:
        return -math.inf
    return math.inf if share == 0 else -10 * math.log10(share) if share < math.inf else -math.inf


class Reference:
    """The outputs of the original on the samples for comparison, which evaluate() holds those of another model
    against."""

    def __init__(self, session, samples, wanted, is_convolutional):
        outputs = {one.name: one for one in session.get_outputs()}
        for name in wanted:
            if name not in outputs:
                raise Failure(f"--compare: the model has no output '{name}'; its outputs are "
                              + ", ".join(f"'{one}'" for one in outputs))
        self.names = wanted or [name for name, one in outputs.items() if one.type in _FLOATS]
        if not self.names:
            raise Failure("the model has no output of floats, which could be compared: its outputs are "
                          + ", ".join(f"'{name}' ({one.type})" for name, one in outputs.items()))
        self._samples, self.values = samples, []
        for number in samples.comparison:
            try:
                self.values.append(session.run(self.names, samples.feed(number)))
            except Exception as failure:
                said = library_message(failure)
                if said is None:
                    raise
                hint = "".join(f"; {text}" for text in samples.assumed) + (
                    "; inputs " + ", ".join(f"'{name}'" for name in samples.random) + " are random: give sizes with "
                    "--dim or --shape, numbers with --range, or real inputs with --data" if samples.random else "")
                raise Failure(f"the model does not run on {samples.origin(number)}: {said}{hint}") from None
            self._check_numbers(number)
        self.ranked, self.axis = self._ranked_output(is_convolutional)

    def _check_numbers(self, number):
        """Raises a Failure if the outputs of this sample, the last that ran, tell nothing."""
        if any(value.size == 0 or not np.isnan(value.astype(np.float64)).all() for value in self.values[-1]):
            return
        feed = self._samples.feed(number)
        inputs = [f"'{name}'" for name, value in feed.items()
                  if np.issubdtype(value.dtype, np.floating) and np.isnan(value).any()]
        because = (f"its input {', '.join(inputs)} has NaN: mend that sample" if inputs else
                   "no input has NaN, so they come up within the model: sardonyx run --check-values shows where")
        raise Failure(f"on {self._samples.origin(number)} the original gives NaN alone for "
                      + ", ".join(f"'{name}'" for name in self.names)
                      + f", and nothing can be compared with that; {because}")

    def _ranked_output(self, is_convolutional):
        """(the place of the first output that has a largest element in each place, the axis of its elements): that of
        channels for images and for what convolutional networks make of them, otherwise the last."""
        for at, name in enumerate(self.names):
            first = self.values[0][at]
            axis = 1 if first.ndim == 4 or first.ndim == 3 and is_convolutional else first.ndim - 1
            if first.ndim and first.shape[axis] > 1 and not name.startswith(("present", "past")):
                return at, axis
        return None, 0

    @property
    def ranked_text(self):
        """Which output agreement is counted on."""
        return "" if self.ranked is None else f"'{self.names[self.ranked]}', axis {self.axis}"

    def evaluate(self, session):
        noises, found = [Noise() for _ in self.names], Accuracy(0, None)
        same = places = 0
        for exact, number in zip(self.values, self._samples.comparison, strict=True):
            values = session.run(self.names, self._samples.feed(number))
            for at, (one, other) in enumerate(zip(exact, values, strict=True)):
                if one.shape != other.shape:
                    if self.names[at] not in found.other_shapes:
                        found.other_shapes.append(self.names[at])
                    continue
                if not np.isfinite(other[np.isfinite(one)].astype(np.float64)).all():
                    if self.names[at] not in found.not_finite:
                        found.not_finite.append(self.names[at])
                    noises[at].noise = math.inf
                    continue
                noises[at].add(one, other)
                if at == self.ranked and one.size:
                    match = one.argmax(self.axis) == other.argmax(self.axis)
                    same, places = same + int(match.sum()), places + match.size
        found.by_output = {name: noise.sqnr for name, noise in zip(self.names, noises, strict=True)
                           if name not in found.other_shapes}
        compared = [noise.share for name, noise in zip(self.names, noises, strict=True)
                    if name not in found.other_shapes and (noise.signal or noise.noise)]
        found.sqnr = decibels(sum(compared) / len(compared)) if compared else math.nan
        found.agreement = same / places if places else None
        return found
