"""tools/compare_values.py - compares the outputs of two engines: tensors, sequences, maps, sets of boxes.

An error is the largest difference divided by the largest finite value of the output. What has no distance (type, shape,
integers, strings, positions of NaN and infinities, keys) must be equal; otherwise the result is a `problem` in words.
To compare another kind of output as a set, add the form of its rows to SETS.
"""
import dataclasses

import numpy as np

FAR = 0.1  # rows of two sets that differ by more are not paired


@dataclasses.dataclass
class Difference:
    distance: float = 0.0  # the largest difference
    largest: float = 0.0  # the largest finite value that was expected
    problem: str = ""
    unmatched: int = 0  # rows of a set without a partner

    @property
    def error(self):
        """The distance relative to the largest value; the distance itself if all values are zero."""
        return self.distance / (self.largest or 1.0)

    def join(self, other):
        """Joins the differences of the parts of one output; they share its largest value."""
        self.distance = max(self.distance, other.distance)
        self.largest = max(self.largest, other.largest)
        self.problem = self.problem or other.problem
        self.unmatched += other.unmatched
        return self


def compare(got, want):
    """The difference of two outputs of any kind."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return Difference(problem=f"expected a sequence of {len(want)}, found {described(got)}")
        return joined(zip(got, want, strict=True))
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            return Difference(problem=f"expected a map with the keys {sorted(want)}, found {described(got)}")
        return joined((got[key], want[key]) for key in want)
    if isinstance(want, np.ndarray):
        return compare_arrays(got, want)
    if isinstance(want, float) and isinstance(got, float):
        return compare_arrays(np.array(got), np.array(want))
    return Difference(problem="" if got == want else f"expected {want!r}, found {got!r}")


def joined(pairs):
    total = Difference()
    for got, want in pairs:
        total.join(compare(got, want))
    return total


def described(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, dict):
        return f"a map with the keys {sorted(value)}"
    return f"a sequence of {len(value)}" if isinstance(value, (list, tuple)) else repr(value)


def compare_arrays(got, want):
    if not isinstance(got, np.ndarray) or got.dtype != want.dtype or got.shape != want.shape:
        return Difference(problem=f"expected {described(want)}, found {described(got)}")
    if not is_float(want.dtype):
        count = int(np.count_nonzero(np.asarray(got != want)))
        return Difference(problem=f"{count} of {want.size} elements differ" if count else "")
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    for what, test in (("NaN", np.isnan), ("+infinity", np.isposinf), ("-infinity", np.isneginf)):
        if not np.array_equal(test(got), test(want)):
            return Difference(problem=f"{what} stands in {test(got).sum()} places, expected {test(want).sum()} others")
    if not finite.any():
        return Difference()
    return Difference(float(np.abs(got[finite] - want[finite]).max()), float(np.abs(want[finite]).max()))


def is_float(dtype):
    return dtype.kind == "f" or dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def scale(values):
    """The largest finite value; 1 if all are zero."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0


# ---- Sets of detections ----


def rows_of_three(outputs, boxes, labels, scores):
    """The columns [N, C] that are compared by value, and the labels that must be equal."""
    return [outputs[boxes], outputs[scores][:, None]], outputs[labels]


def rows_of_table(outputs, table):
    """Rows x1 y1 x2 y2 score label and mask coefficients; rows without a score are padding."""
    rows = outputs[table].reshape(-1, outputs[table].shape[-1])
    rows = rows[rows[:, 4] > 0]
    return [rows[:, :4], rows[:, 4:5], rows[:, 6:]], rows[:, 5]


# The names of a detector's outputs tell the form of its rows.
SETS = [
    ({"boxes", "labels", "scores"}, lambda outputs: rows_of_three(outputs, "boxes", "labels", "scores"),
     ("boxes", "labels", "scores")),
]


def compare_outputs(got, want, set_table=None):
    """{output: Difference} of two dictionaries of outputs; detections are one entry, "detections"."""
    differences = {}
    rows_of, members = (lambda outputs: rows_of_table(outputs, set_table)), (set_table,)
    if not set_table:
        rows_of, members = next(((rows, names) for wanted, rows, names in SETS if wanted <= set(want)), (None, ()))
    if rows_of:
        differences["detections"] = compare_sets(got, want, rows_of, members)
    for name in want:
        if name not in members:
            differences[name] = compare(got[name], want[name])
    return differences


def compare_sets(got, want, rows_of, members):
    for name in members:
        if got[name].dtype != want[name].dtype or got[name].ndim != want[name].ndim:
            return Difference(problem=f"'{name}': expected {described(want[name])}, found {described(got[name])}")
    (got_groups, got_labels), (want_groups, want_labels) = rows_of(got), rows_of(want)
    if not len(want_labels) or not len(got_labels):
        return Difference(unmatched=len(want_labels) + len(got_labels))
    cost = np.where(got_labels[:, None] == want_labels[None], 0.0, np.inf)
    for ours, theirs in zip(got_groups, want_groups, strict=True):
        if ours.shape[1]:
            gap = np.abs(ours[:, None].astype(np.float64) - theirs[None]).max(axis=2) / scale(theirs)
            cost = np.maximum(cost, np.where(np.isnan(gap), np.inf, gap))
    return match(cost)


def match(cost):
    """Pairs the rows of two sets, the nearest ones first."""
    taken_got, taken_want, worst, pairs = set(), set(), 0.0, 0
    for place in np.argsort(cost, axis=None, kind="stable"):
        i, j = divmod(int(place), cost.shape[1])
        if cost[i, j] > FAR:
            break
        if i not in taken_got and j not in taken_want:
            taken_got.add(i)
            taken_want.add(j)
            worst, pairs = max(worst, float(cost[i, j])), pairs + 1
    return Difference(worst, 1.0, unmatched=cost.shape[0] + cost.shape[1] - 2 * pairs)
