"""The inputs of each run: those that the tool read from the user's data, and random ones for what it lacks."""
import ml_dtypes
import numpy as np

from sardonyx.commands.failure import Failure
from sardonyx.commands.token_ranges import token_limit

RANDOM_SAMPLES = 16
_HELD_OUT = 0.3  # the share of samples that ranges are not taken from, if there are at least _ENOUGH
_ENOUGH = 20
_LENGTH, _SIDE = 32, 224  # sizes of open dimensions of texts and images
_FLOATS = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_INTEGERS = {name: np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                               "uint64")}
_DTYPES = _FLOATS | _INTEGERS | {"bool": np.bool_, "string": object}


class Samples:
    """`calibration` and `comparison` are lists of numbers, which feed() makes the inputs of a run from. `assumed`: what
    is said of open dimensions; `random`: names of inputs that have random values."""

    def __init__(self, request, model):
        self._request, self._graph = request, model.graph
        self.inputs = [name for name in request.inputs]
        self.assumed, self._sizes = [], {}
        self._files = request.samples
        given = set(np.load(self._files[0]["file"]).files) if self._files else set()
        self.random = [name for place, name in enumerate(self.inputs) if str(place) not in given]
        count = request.sample_count or RANDOM_SAMPLES
        if request.data:
            count = len(self._files)
        if not count:
            raise Failure(f"--data: expected samples in '{request.data}', found none")
        self.count = count
        self.are_held_out = count >= _ENOUGH or not request.data and count > 1
        kept = 0
        if self.are_held_out:  # every few samples, as neighbours are often alike
            kept = max(1, round(count * (_HELD_OUT if request.data else 0.5)))
        held = {at * count // kept for at in range(kept)} if kept else set()
        self.calibration = [at for at in range(count) if at not in held] or list(range(count))
        self.comparison = sorted(held) or list(range(count))
        self.limits = {name: token_limit(self._graph, name) for name in self.random
                       if self._dtype(name) in _INTEGERS}

    def feed(self, number):
        """The inputs of a run by name."""
        arrays = {}
        if self._files:
            with np.load(self._files[number if self._request.data else 0]["file"], allow_pickle=False) as file:
                arrays = {self.inputs[int(place)]: file[place] for place in file.files}
        for name in self.inputs:
            if name in arrays:
                arrays[name] = self._with_type(name, arrays[name])
            else:
                arrays[name] = self._random(name, number)
        return arrays

    def origin(self, number):
        return self._files[number]["origin"] if self._request.data else f"random inputs {number}"

    def _dtype(self, name):
        known = self._graph.type_of(name)
        return None if known is None else known.dtype

    def _with_type(self, name, array):
        wanted = self._dtype(name)
        if wanted == "bfloat16" and array.dtype == np.uint16:  # NumPy lacks the type: the file has its bits
            return array.view(ml_dtypes.bfloat16)
        return array

    def _random(self, name, number):
        wanted = self._dtype(name)
        if wanted not in _DTYPES:
            raise Failure(f"input '{name}' is of type {wanted}, which has no random values: give it with --data or "
                          "--input", "NOT_IMPLEMENTED")
        shape = self._shape(name)
        # A stream of its own for each input of each sample, so that a sample is the same in every run.
        random = np.random.default_rng([self._request.seed, number, self.inputs.index(name)])
        low, high = self._request.range or (None, None)
        if wanted in _FLOATS:
            low, high = (-1, 1) if low is None else (low, high)
            return random.uniform(low, high, shape).astype(_FLOATS[wanted])
        if wanted == "string":
            return np.array([f"text{one}" for one in random.integers(0, 8, shape).ravel()], object).reshape(shape)
        if low is None:
            is_mask = "mask" in name.lower()
            low, high = (1, 1) if is_mask else (0, (self.limits.get(name) or 8) - 1)
            if wanted == "bool" and not is_mask:
                high = 1
        elif self.limits.get(name) and high >= self.limits[name]:
            raise Failure(f"--range: input '{name}' selects from a table of {self.limits[name]} rows, so that its "
                          f"numbers lie from 0 to {self.limits[name] - 1}, found {high:g}")
        return random.integers(int(low), int(high), shape, endpoint=True).astype(_DTYPES[wanted])

    def _shape(self, name):
        if name in self._request.shapes:
            return tuple(self._request.shapes[name])
        known = self._graph.type_of(name)
        if known is None or known.shape is None:
            raise Failure(f"input '{name}' has an unknown rank: set its shape with --shape {name}=1x2x3")
        return tuple(dim if isinstance(dim, int) else self._size(name, known, axis, dim)
                     for axis, dim in enumerate(known.shape))

    def _size(self, name, known, axis, symbol):
        """The size of an open dimension: that of --dim; otherwise what is usual."""
        key = symbol or (name, axis)
        if symbol in self._request.dims:
            return self._request.dims[symbol]
        if key not in self._sizes:
            size = self._sum(symbol) or self._mask_length(name, symbol) or _usual(known, axis)
            self._sizes[key] = size
            what = symbol or f"dimension {axis} of '{name}'"
            self.assumed.append(f"the model leaves {what} open: {size} is assumed (see --dim and --shape)")
        return self._sizes[key]

    def _sum(self, symbol):
        """The size of "past + sequence", if those of both are known."""
        parts = [part.strip() for part in (symbol or "").split("+")]
        if len(parts) < 2:
            return None
        sizes = [int(part) if part.isdecimal() else self._request.dims.get(part, self._sizes.get(part))
                 for part in parts]
        return None if None in sizes else sum(sizes)


    def _mask_length(self, name, symbol):
        """Of a decoder's mask whose length has a name of its own: that of the past and of the tokens."""
        types = {one: self._graph.type_of(one) for one in self.inputs}
        others = [one for one, known in types.items() if one != name and known and symbol in (known.shape or ())]
        tokens = next((one for one, known in types.items() if one != name and "mask" not in one.lower() and known and
                       known.dtype in _INTEGERS and len(known.shape or ()) == 2), None)
        past = next((one for one, known in types.items()
                     if "past" in one.lower() and known and len(known.shape or ()) == 4), None)
        if others or "mask" not in name.lower() or tokens is None or past is None:
            return None
        return self._shape(tokens)[1] + self._shape(past)[2]


def _usual(known, axis):
    rank = len(known.shape)
    if known.dtype in _INTEGERS and rank == 2 and axis == 1:
        return _LENGTH
    if rank == 4 and axis >= 2 and known.shape[1] in (1, 3, 4):
        return _SIDE
    if rank == 4 and axis in (1, 2) and known.shape[3] in (1, 3, 4):
        return _SIDE
    return 1


class Reader:
    """The samples with these numbers, as calibration reads them. `progress` is told from 0 to 1 how far it is."""

    def __init__(self, samples, numbers, progress=None):
        self._samples, self._numbers, self._at, self._progress = samples, numbers, 0, progress

    def get_next(self):
        if self._at == len(self._numbers):
            return None
        if self._progress:
            self._progress(self._at / len(self._numbers))
        self._at += 1
        return self._samples.feed(self._numbers[self._at - 1])
