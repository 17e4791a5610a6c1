"""Calibraters give the ranges that ONNX Runtime's give, for the same models, data and arguments."""
import inspect
import json
import re

import numpy as np
import onnx
import onnx.parser
import onnxruntime.quantization.calibrate as theirs
import pytest
import sardonyx.quantization.calibrate as ours

CNN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3, 8, 8] x, float[N, 5] unused) => (float[N, 4, 8, 8] y, float[N, 5] z)
  <float[4, 3, 3, 3] w, float[4] b> {
  c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
  r = Relu (c)
  s = Sigmoid (c)
  p = Mul (r, s)
  shape = Shape (p)
  q = Reshape (p, shape)
  y = Add (q, r)
  z = Identity (unused)
}"""
MLP = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 6] x) => (float[N, 5] y) <float[6, 7] w, float[7] b, float[7, 5] v> {
  m = MatMul (x, w)
  a = Add (m, b)
  t = Tanh (a)
  half = Constant <value = float {0.5}> ()
  h = Mul (t, half)
  y = Gemm (h, v)
}"""
HALF = """<ir_version: 8, opset_import: ["" : 17]>
g (float16[N, 6] x) => (float[N, 7] y) <float16[6, 7] w> {
  m = MatMul (x, w)
  a = Abs (m)
  y = Cast <to = 1> (a)
}"""
FEEDS = {"cnn": {"x": (2, 3, 8, 8), "unused": (2, 5)}, "mlp": {"x": (4, 6)}, "half": {"x": (5, 6)}}
METHODS = list(theirs.CalibrationMethod)


def weights(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, text in {"cnn": CNN, "mlp": MLP, "half": HALF}.items():
        head, _, body = text.partition("=>")
        declared = body[body.find("<", body.find(")")):body.find("> {") + 1]
        model = onnx.parser.parse_model(head + "=>" + body.replace(declared, ""))
        model.graph.initializer.extend(_initializers(declared))
        onnx.save(model, folder / f"{name}.onnx")
    return folder


def _initializers(declared):
    for number, (kind, shape, name) in enumerate(re.findall(r"(float16|float)\[([\d, ]+)\] (\w+)", declared)):
        array = weights(number, *(int(one) for one in shape.split(",")))
        yield onnx.numpy_helper.from_array(array.astype(np.float16 if kind == "float16" else np.float32), name)


class Reader(ours.CalibrationDataReader):
    """Runs whose values grow, so that later ones widen the ranges of those before."""

    def __init__(self, name, count=5, first=0):
        dtype = np.float16 if name == "half" else np.float32
        self.runs = iter([{key: (weights(100 + first + run, *shape) * (1 + 0.3 * (first + run))).astype(dtype)
                           for key, shape in FEEDS[name].items()} for run in range(count)])

    def get_next(self):
        return next(self.runs, None)


def both(models, tmp_path, name, method, options=None, calls=(5,), **arguments):
    """The data of both for the same calls of collect_data, as plain dictionaries."""
    results = []
    for module, place in ((ours, "ours.onnx"), (theirs, "theirs.onnx")):
        made = module.create_calibrator(models / f"{name}.onnx", augmented_model_path=str(tmp_path / place),
                                        calibrate_method=module.CalibrationMethod[method.name],
                                        extra_options=options or {}, **arguments)
        first = 0
        for count in calls:
            made.collect_data(Reader(name, count, first))
            first += count
        data = made.compute_data()
        assert type(data) is module.TensorsData and data.calibration_method.name == method.name
        results.append({key: vars(value) for key, value in data.items()})
    return results


def check(mine, other, tolerance=1e-6):
    assert set(mine) == set(other) and len(mine) > 0
    for name in other:
        assert set(mine[name]) == set(other[name])
        for key in set(other[name]) - {"_attrs"}:
            left, right = np.asarray(mine[name][key]), np.asarray(other[name][key])
            assert left.dtype == right.dtype and left.shape == right.shape, (name, key)
            half = left.dtype == np.float16
            scale = max(1.0, np.abs(right).max())
            np.testing.assert_allclose(left, right, rtol=0, atol=scale * (2e-3 if half else tolerance),
                                       err_msg=f"{name}.{key}")


@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.parametrize("calls", [(5,), (1, 2, 3)])
@pytest.mark.parametrize("options", [
    {}, {"symmetric": True}, {"moving_average": True}, {"moving_average": True, "averaging_constant": 0.3},
    {"moving_average": True, "symmetric": True, "averaging_constant": 1.0}], ids=str)
def test_ranges_of_minmax(models, tmp_path, name, calls, options):
    check(*both(models, tmp_path, name, METHODS[0], options, calls))


@pytest.mark.parametrize("name", ["cnn", "mlp", "half"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_ranges_of_channels(models, tmp_path, name, symmetric, average):
    options = {"per_channel": True, "symmetric": symmetric, "moving_average": average}
    chosen = {"op_types_to_calibrate": ["Conv", "Relu", "MatMul", "Add"]}  # theirs refuses tensors of rank 0
    mine, other = both(models, tmp_path, name, METHODS[0], options, **chosen)
    check(mine, other)
    assert max(entry["lowest"].size for entry in mine.values()) > 3


def test_ranges_of_channels_are_merged(models, tmp_path):
    # Theirs fails here: it asks an array of ranges for its truth.
    mine = ours.create_calibrator(models / "cnn.onnx", augmented_model_path=str(tmp_path / "a.onnx"),
                                  extra_options={"per_channel": True})
    mine.collect_data(Reader("cnn", 2))
    mine.collect_data(Reader("cnn", 3, 2))
    once, _ = both(models, tmp_path, "cnn", METHODS[0], {"per_channel": True}, op_types_to_calibrate=["Conv"])
    for name, entry in once.items():
        np.testing.assert_array_equal(mine.compute_data()[name].lowest, entry["lowest"])
        np.testing.assert_array_equal(mine.compute_data()[name].highest, entry["highest"])


@pytest.mark.parametrize("every", [1, 2, 3, 5, 7])
def test_no_run_is_lost_when_ranges_are_merged_in_between(models, tmp_path, every):
    # Theirs forgets the runs that it has when max_intermediate_outputs is reached.
    _, expected = both(models, tmp_path, "mlp", METHODS[0])
    mine = ours.create_calibrator(models / "mlp.onnx", augmented_model_path=str(tmp_path / "a.onnx"),
                                  extra_options={"max_intermediate_outputs": every})
    mine.collect_data(Reader("mlp"))
    check({name: vars(value) for name, value in mine.compute_data().items()}, expected)


HISTOGRAMS = [(METHODS[1], options) for options in (
    {}, {"symmetric": True}, {"num_bins": 512}, {"num_bins": 1000, "num_quantized_bins": 64},
    {"num_bins": 301, "num_quantized_bins": 128})] + [(METHODS[2], options) for options in (
        {}, {"symmetric": False}, {"percentile": 90}, {"percentile": 97.5, "symmetric": False, "num_bins": 333},
        {"num_bins": 64, "percentile": 0}, {"percentile": 100, "symmetric": False})] + [
            (METHODS[3], options) for options in ({}, {"scenario": "p3"}, {"num_bins": 700})]


def near(mine, other, steps=1.01):
    """The same range but for a bin: a value at the edge of a bin may round to either side."""
    assert set(mine) == set(other) and len(mine) > 0
    for name, wanted in other.items():
        found = mine[name]
        # Of a distribution ONNX Runtime's tool gives the edges, of a percentile the first counts in their place.
        width = found["hist_edges" if "hist_edges" in found else "bins"]
        width = float(width[1] - width[0])
        for key in set(wanted) & {"lowest", "highest"}:
            assert abs(float(found[key]) - float(wanted[key])) <= steps * width, (name, key)
        for key in set(wanted) & {"avg", "std"}:
            exact = 0.0 if np.isnan(wanted[key]) else float(wanted[key])  # of values that are all the same
            assert abs(float(found[key]) - exact) <= width / 4, (name, key)


@pytest.mark.parametrize("name", ["cnn", "mlp"])
@pytest.mark.parametrize("calls", [(5,), (1, 2, 3)])
@pytest.mark.parametrize(("method", "options"), HISTOGRAMS, ids=str)
def test_ranges_from_histograms(models, tmp_path, name, calls, method, options):
    mine, other = both(models, tmp_path, name, method, options, calls)
    # Of several ends that tell nearly the same, another may be the best; single values may lie some bins apart.
    near(mine, other, {"Entropy": 20, "Percentile": 20}.get(method.name, 1.01))
    if method.name == "Entropy" and calls == (5,):
        for key, entry in other.items():
            assert mine[key]["hist"].sum() == entry["hist"].sum()
            assert np.abs(mine[key]["hist"] - entry["hist"]).sum() <= 4 + entry["hist"].sum() // 25


@pytest.mark.parametrize("method", METHODS[1:])
def test_half_precision(models, tmp_path, method):
    """ONNX Runtime's tool makes bins of half precision, which fails for many of them."""
    made = ours.create_calibrator(models / "half.onnx", augmented_model_path=str(tmp_path / "a.onnx"),
                                  calibrate_method=ours.CalibrationMethod[method.name])
    made.collect_data(Reader("half", 5))
    data = made.compute_data()
    assert {"x", "m", "a"} <= set(data.keys())
    for name in ("x", "m", "a"):
        entry = vars(data[name])
        assert entry["lowest"].dtype == (np.float32 if method.name == "Distribution" else np.float16)
        assert entry["highest"] > 0


ARRAYS = {
    "spread": [weights(1, 4, 100), weights(2, 4, 100) * 3, weights(3, 4, 100) * 2],
    "zero": [np.zeros(9, np.float32), np.zeros(9, np.float32), weights(4, 9)],
    "same": [np.full(7, 2.5, np.float32), np.full(7, -2.5, np.float32), np.full(7, 2.5, np.float32)],
    "positive": [np.abs(weights(6, 50)) + 1, np.abs(weights(7, 50)) + 4, np.abs(weights(8, 50))],
    "large": [weights(9, 50) * 1e30, weights(10, 50) * 1e-30, weights(11, 50) * 1e32],
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(("method", "symmetric", "bins"), [("entropy", False, 128), ("percentile", True, 256),
                                                         ("percentile", False, 100), ("distribution", False, 512)])
def test_a_collector_has_the_same_histograms(name, method, symmetric, bins):
    collectors = [module.HistogramCollector(method, symmetric, bins, 128, 99.9, "same") for module in (ours, theirs)]
    for given in ARRAYS[name]:
        for collector in collectors:
            collector.collect({"t": given})
    mine, other = (list(collector.get_histogram_dict()["t"]) for collector in collectors)
    assert len(mine) == len(other) and mine[0].sum() == other[0].sum()
    assert [float(one) for one in mine[2:4]] == [float(one) for one in other[2:4]]
    if name == "spread":
        np.testing.assert_allclose(mine[1], other[1], rtol=1e-5, atol=1e-5)
        assert np.abs(mine[0] - other[0]).sum() <= 20
    assert mine[1][0] <= (0 if symmetric else min(one.min() for one in ARRAYS[name])) or symmetric
    assert mine[1][-1] >= max(np.abs(one).max() for one in ARRAYS[name])


def test_values_that_are_no_numbers_are_passed_over_and_infinite_ones_named():
    collector = ours.HistogramCollector("entropy", False, 128, 128, 99.9, "same")
    collector.collect({"t": np.array([np.nan, 1, -3, np.nan] * 40, np.float32), "n": np.full(5, np.nan, np.float32)})
    hist, edges, low, high, _ = collector.get_histogram_dict()["t"]
    assert (low, high, hist.sum(), hist[-1 - 128 // 3], edges[0]) == (-3, 1, 80, hist[128 - 128 // 3 - 1], -3)
    assert collector.get_histogram_dict()["n"][0].sum() == 0
    with pytest.raises(ValueError, match="'t'.*inf"):
        collector.collect({"t": np.array([1, np.inf], np.float32)})
    with pytest.raises(TypeError, match="'t'.*float64"):
        collector.collect({"t": np.zeros(3)})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[-1], [1], [-1, 1], [-1, 0], [1, 0.5]], ids=str)
def test_the_largest_numbers_overflow_nothing(values):
    """Masks hold them."""
    data = (np.array(values * 50) * np.finfo(np.float32).max).astype(np.float32)
    for symmetric in (False, True):
        collector = ours.HistogramCollector("percentile", symmetric, 64, 64, 99.9, "same")
        collector.stream({"t": data})
        collector.finish_stream()
        hist, edges, low, high = collector.get_histogram_dict()["t"][:4]
        assert hist.sum() == data.size and np.isfinite(edges).all() and (np.diff(edges.astype(np.float64)) > 0).all()
        assert (low, high) == (data.min(), data.max()) or symmetric


def test_streams_hold_zeros_alone_and_the_ends_of_the_type():
    largest, least = np.finfo(np.float32).max, np.float32(1e-42)
    collector = ours.HistogramCollector("percentile", False, 64, 64, 99.9, "same")
    collector.stream({"zero": np.zeros(100, np.float32), "mask": np.array([0, -largest] * 50, np.float32),
                      "small": np.array([least, 0] * 50, np.float32), "late": np.zeros(100, np.float32)})
    collector.stream({"late": np.full(100, 3, np.float32)})
    collector.finish_stream()
    found = collector.get_histogram_dict()
    assert [found[name][0].sum() for name in ("zero", "mask", "small", "late")] == [100, 100, 100, 200]
    assert found["mask"][0][0] == 50 and found["mask"][2] == -largest and found["late"][0][-1] == 100


@pytest.mark.parametrize(("method", "symmetric"), [("entropy", False), ("percentile", True), ("percentile", False)])
def test_what_follows_from_a_stream_is_as_if_it_were_counted(method, symmetric):
    """One number far below zero does not make the bins above it wider, which are all that Relu leaves."""
    parts = [np.append(weights(seed, 3000) * seed, np.float32([-700 * seed, 0, np.nan])) for seed in (1, 2, 5)]
    streamed, whole = (ours.HistogramCollector(method, symmetric, 2048, 128, 99.9, "same") for _ in range(2))
    for part in parts:
        streamed.stream({"source": part})
    streamed.follow({"moved": ("relu", False), "relu": ("source", True), "unknown": ("absent", True)})
    streamed.finish_stream()
    data = np.concatenate(parts)
    whole.collect({"relu": np.maximum(data, 0), "source": data})
    found, wanted = streamed.histogram_dict, whole.histogram_dict
    assert set(found) == {"source", "relu", "moved"}
    for name, other in (("relu", "relu"), ("moved", "relu"), ("source", "source")):
        assert found[name][0].sum() == wanted[other][0].sum() == 3 * 3002
        assert [float(one) for one in found[name][2:4]] == [float(one) for one in wanted[other][2:4]]
        np.testing.assert_array_equal(found[name][1], wanted[other][1])
        # Between the bins of the stream, which are 4 to 8 times as narrow, numbers may lie on the other side.
        assert np.abs(np.cumsum(found[name][0]) - np.cumsum(wanted[other][0])).max() <= 12


def test_infinite_values_count_where_they_become_finite():
    collector = ours.HistogramCollector("percentile", True, 64, 64, 99.9, "same")
    collector.stream({"mask": np.array([3, -np.inf, 1, np.nan, -2] * 20, np.float32)})
    collector.stream({"mask": np.array([2, -np.inf], np.float32)})
    collector.follow({"relu": ("mask", True)})
    with pytest.raises(ValueError, match="'mask'.*inf"):
        collector.finish_stream()
    del collector._streams["mask"]
    collector.finish_stream()
    counts, edges, low, high = collector.histogram_dict["relu"]
    assert (low, high, edges[0], counts.sum(), counts[0], counts[-1]) == (0, 3, 0, 82, 41, 20)


def test_no_tensor_is_kept_that_follows_from_another(tmp_path):
    onnx.save(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[2,n] x) => (float[m] y) {
        three = Constant <value_float: float = 3.0> () s = Sub (x, three) r = Relu (s) t = Transpose (r)
        flat = Constant <value_ints: ints = [-1]> () y = Reshape (t, flat) }"""), tmp_path / "chain.onnx")
    made = ours.create_calibrator(str(tmp_path / "chain.onnx"), ["Sub", "Relu", "Transpose", "Reshape"],
                                  str(tmp_path / "a.onnx"), calibrate_method=ours.CalibrationMethod.Entropy)
    assert {one.name for one in onnx.load(tmp_path / "a.onnx").graph.output} == {"three", "s", "y"}
    data = weights(1, 2, 500) * 5
    runs = iter([{"x": data}])
    made.collect_data(type("Reader", (ours.CalibrationDataReader,), {"get_next": lambda self: next(runs, None)})())
    found = made.collector.histogram_dict
    assert set(found) == {"x", "three", "s", "r", "t", "y"}
    for name in ("r", "t", "y"):
        assert (float(found[name][2]), float(found[name][3])) == (0, float((data - np.float32(3)).max()))
        assert found[name][0].sum() == 1000 and found[name][0][64] > 500


def test_runs_may_have_other_shapes_and_readers_may_reuse_their_arrays(models, tmp_path):
    # Theirs puts the values of all runs into one array, which needs equal shapes.
    made = ours.create_calibrator(models / "mlp.onnx", augmented_model_path=str(tmp_path / "a.onnx"),
                                  calibrate_method=ours.CalibrationMethod.Percentile)
    parts = ours.HistogramCollector("percentile", True, 2048, 128, 99.999, "same")
    parts.collect({"x": np.concatenate([weights(run, run, 6).ravel() for run in range(1, 6)])})

    class Growing:
        def __init__(self):
            self.array, self.run = np.zeros((5, 6), np.float32), 0

        def get_next(self):
            self.run += 1
            if self.run > 5:
                return None
            self.array[:self.run] = weights(self.run, self.run, 6)
            return {"x": self.array[:self.run]}
    made.collect_data(Growing())
    mine, wanted = (one.histogram_dict["x"][0] for one in (made.collector, parts))
    assert mine.sum() == wanted.sum() and np.abs(np.cumsum(mine) - np.cumsum(wanted)).max() <= 1


def test_a_single_magnitude_keeps_its_place(tmp_path):
    """As constants of a model do: the percentile of ones is one, on an edge of the bins."""
    onnx.save(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[n] x) => (float[n] y) {
        one = Constant <value_float: float = 1.0> () y = Add (x, one) }"""), tmp_path / "one.onnx")
    found = []
    for module in (ours, theirs):
        calibrater = module.create_calibrator(
            str(tmp_path / "one.onnx"), ["Add"], str(tmp_path / "augmented.onnx"),
            calibrate_method=module.CalibrationMethod.Percentile, extra_options={"symmetric": True})
        calibrater.set_execution_providers(["CPUExecutionProvider"])
        runs = iter([{"x": np.array([one, -one], np.float32)} for one in (3, 3)])
        reader = type("Reader", (module.CalibrationDataReader,), {"get_next": lambda self, runs=runs: next(runs, None)})
        calibrater.collect_data(reader())
        found.append({name: [float(end) for end in data.range_value]
                      for name, data in calibrater.compute_data().items()})
    assert found[0] == found[1]
    assert found[0]["one"] == [1.0, 1.0] and found[0]["x"] == [-3.0, 3.0]


@pytest.mark.parametrize("base", [None, 2.0])
def test_relative_entropy(base):
    one, other = (np.abs(weights(seed, 40)) + 0.01 for seed in (1, 2))
    np.testing.assert_allclose(ours.entropy(one, other, base), theirs.entropy(one, other, base), rtol=1e-6)
    one[3] = 0  # which adds nothing; ONNX Runtime's function says infinity
    assert np.isfinite(ours.entropy(one, other, base))
    other[5] = 0
    assert np.isinf(ours.entropy(one, other, base))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [["Conv"], ["Relu", "Mul"], ["Identity"], []], ids=str)
def test_tensors_of_chosen_operators(models, tmp_path, method, kinds):
    compare = check if method == METHODS[0] else near
    compare(*both(models, tmp_path, "cnn", method, op_types_to_calibrate=kinds, providers=["CPUExecutionProvider"]))


def test_an_augmented_model_with_its_weights_outside(models, tmp_path):
    check(*both(models, tmp_path, "cnn", METHODS[0], use_external_data_format=True))
    assert onnx.load(tmp_path / "ours.onnx").graph.output[-1].name.endswith("_ReduceMax")


def select_in_a_program(self, model):
    values = {one.name: one for one in (*model.graph.value_info, *model.graph.output, *model.graph.input)}
    wanted = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
    return {name for name, one in values.items() if one.type.tensor_type.elem_type in wanted}, values


def collect_in_a_program(self, reader):
    while inputs := reader.get_next():
        self.intermediate_outputs.append(self.infer_session.run(None, inputs))
    self.compute_data()
    self.clear_collected_data()


def compute_in_a_program(self):
    if self.intermediate_outputs:
        names = [one.name for one in self.infer_session.get_outputs()][self.num_model_outputs:]
        runs = [run[self.num_model_outputs:] for run in self.intermediate_outputs]
        ranges = {name.rpartition("_")[0]: (np.min([run[index] for run in runs], axis=0),
                                            np.max([run[index + 1] for run in runs], axis=0))
                  for index, name in enumerate(names) if index % 2 == 0}
        self.calibrate_tensors_range = self.merge_range(self.calibrate_tensors_range, ours.TensorsData(
            ours.CalibrationMethod.MinMax, ranges))
    return self.calibrate_tensors_range


def count_in_a_program(self, reader):
    names = [one.name for one in self.infer_session.get_outputs()]
    self.collector = ours.HistogramCollector(self.method, self.symmetric, self.num_bins, self.num_quantized_bins,
                                             self.percentile, self.scenario)
    while inputs := reader.get_next():
        found = zip(names, self.infer_session.run(None, inputs), strict=True)
        self.collector.collect({name: [value] for name, value in found if name in self.tensors_to_calibrate})


@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.parametrize("replaced", [("select",), ("collect",), ("compute",), ("select", "collect", "compute")],
                         ids="-".join)
def test_functions_that_programs_put_into_the_classes(models, tmp_path, monkeypatch, name, replaced):
    for method, kind, attribute, function in (
            ("select", ours.CalibraterBase, "select_tensors_to_calibrate", select_in_a_program),
            ("collect", ours.MinMaxCalibrater, "collect_data", collect_in_a_program),
            ("compute", ours.MinMaxCalibrater, "compute_data", compute_in_a_program)):
        if method in replaced:
            monkeypatch.setattr(kind, attribute, function)
    check(*both(models, tmp_path, name, METHODS[0], calls=(1, 2, 3)))


def test_functions_that_programs_put_into_the_classes_of_histograms(models, tmp_path, monkeypatch):
    monkeypatch.setattr(ours.CalibraterBase, "select_tensors_to_calibrate", select_in_a_program)
    monkeypatch.setattr(ours.HistogramCalibrater, "collect_data", count_in_a_program)
    mine, other = both(models, tmp_path, "cnn", ours.CalibrationMethod.Percentile)
    assert set(mine) == set(other) and "x" in mine  # an input is a tensor like the others


def test_what_is_wrong_is_named(models, tmp_path):
    with pytest.raises(ValueError, match="path of a model"):
        ours.create_calibrator(b"")
    with pytest.raises(ValueError, match="CalibrationMethod"):
        ours.create_calibrator(models / "mlp.onnx", calibrate_method="MinMax")
    with pytest.raises(ValueError, match="0 to 1"):
        ours.MinMaxCalibrater(models / "mlp.onnx", moving_average=True, averaging_constant=2)
    for method, options, text in ((METHODS[1], {"num_bins": 100}, "100 and 128"), (METHODS[2], {"percentile": 101},
                                  "0 to 100"), (METHODS[3], {"num_bins": 100}, "512"),
                                  (METHODS[3], {"scenario": "p4"}, "p4")):
        made = ours.create_calibrator(models / "mlp.onnx", augmented_model_path=str(tmp_path / "a.onnx"),
                                      calibrate_method=ours.CalibrationMethod[method.name], extra_options=options)
        with pytest.raises(ValueError, match="collect"):
            made.compute_data()
        with pytest.raises(ValueError, match="gave none"):
            made.collect_data(Reader("mlp", 0))
        made.collect_data(Reader("mlp"))
        with pytest.raises(ValueError, match=text):
            made.compute_data()
    made = ours.create_calibrator(models / "mlp.onnx", augmented_model_path=str(tmp_path / "a.onnx"))
    with pytest.raises(ValueError, match="gave none"):
        made.collect_data(Reader("mlp", 0))
    with pytest.raises(ValueError, match="hist"):
        ours.TensorData(something=1)
    with pytest.raises(ValueError, match="float32"):
        ours.TensorData(lowest=np.float64(1))
    with pytest.raises(AttributeError, match="avg"):
        _ = ours.TensorData(lowest=np.float32(1)).avg_std
    data = ours.TensorsData(ours.CalibrationMethod.MinMax, {"x": (np.float32(0), np.float32(1))})
    for entry in ({1: ()}, {"x": (1, 2, 3)}, {"x": [1, 2]}):
        with pytest.raises(TypeError):
            ours.TensorsData(ours.CalibrationMethod.MinMax, entry)
    with pytest.raises(RuntimeError, match="'y'"):
        data["y"] = data["x"]


def test_ranges_in_files_go_both_ways(models, tmp_path):
    entries = {"x": (np.float32(-1), np.float32(2)),
               "y": {"lowest": np.array([0.5], np.float16), "highest": np.array([3], np.float16)},
               "z": (np.float32(0), np.float32(1), np.arange(3), np.arange(4, dtype=np.float32))}
    texts = []
    for module in (ours, theirs):
        data = module.TensorsData(module.CalibrationMethod.MinMax, {
            name: module.TensorData(**value) if isinstance(value, dict) else value for name, value in entries.items()})
        module.save_tensors_data(data, tmp_path / "folder" / "data.json", smooth_quant=True)
        texts.append((tmp_path / "folder" / "data.json").read_text())
        for reader in (ours, theirs):
            loaded = reader.load_tensors_data(tmp_path / "folder" / "data.json")
            assert list(loaded) == list(entries) and loaded.calibration_method.name == "MinMax"
            assert "x" in loaded and loaded["x"].range_value == (-1, 2)
            np.testing.assert_array_equal(loaded["z"].bins, np.arange(4))
    assert json.loads(texts[0]) == json.loads(texts[1])
    assert [one.name for one in (tmp_path / "folder").iterdir()] == ["data.json"]
    with pytest.raises(FileNotFoundError):
        ours.load_tensors_data(tmp_path / "nothing.json")
    with pytest.raises(ValueError):
        ours.load_tensors_data(tmp_path)


def test_names_and_parameters_are_theirs():
    for name in ours.__all__:
        mine, other = (inspect.signature(getattr(module, name)) for module in (ours, theirs))
        if name in ("CalibrationCacheEncoder", "CalibrationMethod", "CalibrationDataReader"):
            continue
        assert [(p.name, p.default if p.name != "calibrate_method" else str(p.default), p.kind)
                for p in mine.parameters.values()] == [
               (p.name, p.default if p.name != "calibrate_method" else str(p.default), p.kind)
                for p in other.parameters.values()], name
        for member, value in vars(getattr(theirs, name)).items() if inspect.isclass(getattr(theirs, name)) else ():
            if not member.startswith("_") and callable(value):
                assert hasattr(getattr(ours, name), member), (name, member)
    assert issubclass(type("Own", (), {"get_next": lambda self: None}), ours.CalibrationDataReader)
    assert [set(inputs) for inputs in Reader("mlp", 2)] == [{"x"}] * 2
    assert {one.name: one.value for one in ours.CalibrationMethod} == {
        one.name: one.value for one in theirs.CalibrationMethod}
