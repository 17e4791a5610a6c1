"""Small models in the spellings of quantization-aware training, as exporters write them (exports/ makes real ones).

`SPELLINGS` maps a name to a function that gives a text in ONNX's syntax, what it names without giving it, and how far
outputs may move if sums of integers round otherwise than sums of floats: by the scale of the last QuantizeLinear, or by
what a product makes of a step of its input.
"""
import numpy as np
from onnx import numpy_helper, parser

_RANDOM = np.random.default_rng()  # spelling() seeds it


def _floats(*shape, scale=0.3):
    return (_RANDOM.standard_normal(shape) * scale).astype(np.float32)


def _scales(weights, axes):
    return (np.abs(weights).max(axes) / 127).astype(np.float32)


def _behind(scale, integers, scales):
    """What a product [outputs, inputs] makes of a step in every element of its input."""
    return scale * float((np.abs(integers.astype(np.float64)).sum(1) * scales).max())


def _bytes(*shape, low=-127, high=127, dtype=np.int8):
    return _RANDOM.integers(low, high + 1, shape).astype(dtype)


def _torch():
    """torch.ao: FakeQuantize modules, exported in evaluation mode. Parameters of shape [1], a Clip for the 7 bits that
    fbgemm takes, and the factor of the normalization divided out behind the convolution."""
    factor, w = _RANDOM.uniform(0.5, 2, 8).astype(np.float32), _floats(8, 3, 3, 3)
    scaled, second = w * factor[:, None, None, None], _floats(8, 8, 3, 3)
    linear = _floats(5, 8)
    text = """g (float[2,3,12,12] x) => (float[2,5] y) <float[1] s0 = {0.03}, uint8[1] z0 = {62}, float[1] s1 = {0.04},
      uint8[1] z1 = {0}, uint8[1] z2 = {61}, uint8 top = {127}, float[1] so = {0.05}> {
      q0 = QuantizeLinear(x, s0, z0) c0 = Clip(q0, , top) x0 = DequantizeLinear(c0, s0, z0)
      wq = QuantizeLinear<axis = 0>(w, ws, wz) wd = DequantizeLinear<axis = 0>(wq, ws, wz)
      k = Conv<pads = [1, 1, 1, 1]>(x0, wd, none) k1 = Div(k, factor)
      k2 = BatchNormalization(k1, gamma, beta, mean, variance) r = Relu(k2)
      q1 = QuantizeLinear(r, s1, z1) c1 = Clip(q1, , top) x1 = DequantizeLinear(c1, s1, z1)
      p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x1)
      q2 = QuantizeLinear(p, s1, z1) c2 = Clip(q2, , top) x2 = DequantizeLinear(c2, s1, z1)
      vq = QuantizeLinear<axis = 0>(v, vs, wz) vd = DequantizeLinear<axis = 0>(vq, vs, wz)
      m = Conv<pads = [1, 1, 1, 1]>(x2, vd, beta) m1 = Relu(m)
      q3 = QuantizeLinear(m1, s1, z1) c3 = Clip(q3, , top) x3 = DequantizeLinear(c3, s1, z1)
      a = Add(x2, x3) q4 = QuantizeLinear(a, s1, z1) c4 = Clip(q4, , top) x4 = DequantizeLinear(c4, s1, z1)
      h = GlobalAveragePool(x4) q5 = QuantizeLinear(h, s1, z1) c5 = Clip(q5, , top) x5 = DequantizeLinear(c5, s1, z1)
      f = Flatten(x5) q6 = QuantizeLinear(f, s1, z1) c6 = Clip(q6, , top) x6 = DequantizeLinear(c6, s1, z1)
      lq = QuantizeLinear<axis = 0>(l, ls, lz) ld = DequantizeLinear<axis = 0>(lq, ls, lz)
      o = Gemm<transB = 1>(x6, ld, lb) oq = QuantizeLinear(o, so, z2) oc = Clip(oq, , top)
      y = DequantizeLinear(oc, so, z2) }"""
    return text, {
        "w": scaled, "ws": _scales(scaled, (1, 2, 3)), "wz": np.zeros(8, np.int8), "none": np.zeros(8, np.float32),
        "factor": factor.reshape(1, 8, 1, 1), "gamma": _floats(8) + 1, "beta": _floats(8), "mean": _floats(8),
        "variance": np.abs(_floats(8)) + 0.3, "v": second, "vs": _scales(second, (1, 2, 3)), "l": linear,
        "ls": _scales(linear, 1), "lz": np.zeros(5, np.int8), "lb": _floats(5)}, 0.05


def _torch_converted():
    """torch.ao after conversion: quantized operators, each between its own pair, a Cast in front of DequantizeLinear,
    biases of int32 whose zero points are computed."""
    text = """g (float[2,3,8,8] x) => (float[2,6,4,4] y) <float s = {0.03}, uint8 z = {110}, float t = {0.06},
      uint8 k = {63}, float low = {0}, float high = {6}, int64[1] eight = {8}, int64[1] six = {6}> {
      q = QuantizeLinear(x, s, z) qc = Cast<to = 2>(q) xd = DequantizeLinear(qc, s, z)
      wd = DequantizeLinear<axis = 0>(w, ws, wz) zeros = ConstantOfShape(eight) zc = Cast<to = 6>(zeros)
      bd = DequantizeLinear<axis = 0>(b, bs, zc) c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(xd, wd, bd)
      q1 = QuantizeLinear(c, t, k) qc1 = Cast<to = 2>(q1) x1 = DequantizeLinear(qc1, t, k) r = Clip(x1, low, high)
      q2 = QuantizeLinear(r, t, k) qc2 = Cast<to = 2>(q2) x2 = DequantizeLinear(qc2, t, k)
      vd = DequantizeLinear<axis = 0>(v, vs, vz) d = Conv<pads = [1, 1, 1, 1], group = 8>(x2, vd)
      qd = QuantizeLinear(d, t, k) qdc = Cast<to = 2>(qd) dd = DequantizeLinear(qdc, t, k) h = HardSwish(dd)
      q3 = QuantizeLinear(h, t, k) qc3 = Cast<to = 2>(q3) x3 = DequantizeLinear(qc3, t, k)
      ud = DequantizeLinear<axis = 0>(u, us, uz) e = Conv(x3, ud) q4 = QuantizeLinear(e, t, k)
      qc4 = Cast<to = 2>(q4) y = DequantizeLinear(qc4, t, k) }"""
    ws = np.full(8, 0.004, np.float32)
    return text, {
        "w": _bytes(8, 3, 3, 3), "ws": ws, "wz": np.zeros(8, np.int8), "b": _bytes(8).astype(np.int32) * 20,
        "bs": ws * np.float32(0.03), "v": _bytes(8, 1, 3, 3), "vs": ws * 2, "vz": np.zeros(8, np.int8),
        "u": _bytes(6, 8, 1, 1), "us": ws[:6], "uz": np.zeros(6, np.int8)}, 0.06


def _pt2e():
    """torch.export through torch.onnx: weights of int8, transposed behind their DequantizeLinear; the sum behind a
    convolution is quantized, the convolution itself is not; what comes last has no quantization."""
    text = """g (float[2,8,6,6] x) => (float[2,36,5] y) <float s = {0.03}, uint8 z = {131}, float t = {0.05},
      uint8 k = {0}, int64[3] shape = {0, 8, -1}> {
      q = QuantizeLinear<axis = 1>(x, s, z) xd = DequantizeLinear<axis = 1>(q, s, z)
      wd = DequantizeLinear<axis = 0>(w, ws, wz) c = Conv<pads = [1, 1, 1, 1]>(xd, wd, b) a = Add(xd, c) r = Relu(a)
      q1 = QuantizeLinear<axis = 1>(r, t, k) x1 = DequantizeLinear<axis = 1>(q1, t, k)
      v = Reshape(x1, shape) q2 = QuantizeLinear<axis = 1>(v, t, k) x2 = DequantizeLinear<axis = 1>(q2, t, k)
      p = Transpose<perm = [0, 2, 1]>(x2)
      ld = DequantizeLinear<axis = 0>(l, ls, lz) lt = Transpose<perm = [1, 0]>(ld) m = MatMul(p, lt) y = Add(m, lb) }"""
    linear = _bytes(5, 8)
    return text, {"w": _bytes(8, 8, 3, 3), "ws": np.full(8, 0.002, np.float32), "wz": np.zeros(8, np.int8),
                  "b": _floats(8), "l": linear, "ls": np.full(5, 0.01, np.float32), "lz": np.zeros(5, np.int8),
                  "lb": _floats(5)}, _behind(0.05, linear, 0.01)


def _tensorflow():
    """tf2onnx: FakeQuantWithMinMaxVars of constants is folded, and so is the normalization behind: the weights are
    floats, and multiples of one number in each channel."""
    grid = _bytes(8, 3, 3, 3) * np.float32(0.01) * _RANDOM.uniform(0.5, 2, (8, 1, 1, 1)).astype(np.float32)
    depthwise = _bytes(8, 1, 3, 3) * np.float32(0.013)
    wide = (_bytes(8, 6, low=0, high=255, dtype=np.uint8).astype(np.float32) - 90) * np.float32(0.004)
    text = """g (float[2,12,12,3] x) => (float[2,6] y) <float s = {0.0314}, uint8 z = {128}, float t = {0.05},
      float low = {0}, float high = {6}, int64[2] axes = {2, 3}> {
      q = QuantizeLinear<axis = 1>(x, s, z) xd = DequantizeLinear<axis = 1>(q, s, z)
      xt = Transpose<perm = [0, 3, 1, 2]>(xd) c = Conv<auto_pad = "SAME_UPPER", strides = [2, 2]>(xt, w, b)
      r = Clip(c, low, high) q1 = QuantizeLinear<axis = 2>(r, t, z) x1 = DequantizeLinear<axis = 2>(q1, t, z)
      d = Conv<auto_pad = "SAME_UPPER", group = 8>(x1, v) q2 = QuantizeLinear<axis = 2>(d, t, z)
      x2 = DequantizeLinear<axis = 2>(q2, t, z) m = GlobalAveragePool(x2) f = Squeeze(m, axes)
      q3 = QuantizeLinear<axis = 1>(f, t, z) x3 = DequantizeLinear<axis = 1>(q3, t, z)
      o = Gemm(x3, l, lb) q4 = QuantizeLinear<axis = 1>(o, s, z) y = DequantizeLinear<axis = 1>(q4, s, z) }"""
    return text, {"w": grid.astype(np.float32), "b": _floats(8), "v": depthwise, "l": wide, "lb": _floats(6)}, 0.0314


def _brevitas(bits=8):
    """Brevitas: a Clip in front of the DequantizeLinear of weights, biases of int8 with their own scale, activations
    without a sign behind Relu beside signed ones."""
    top, steps = 2 ** (bits - 1) - 1, 2 ** bits - 1
    text = f"""g (float[2,3,12,12] x) => (float[2,7] y) <float s = {{0.03}}, int8 z = {{0}}, float t = {{0.02}},
      uint8 k = {{0}}, int8 low = {{-{top}}}, int8 high = {{{top}}}, uint8 ulow = {{0}}, uint8 uhigh = {{{steps}}}> {{
      q = QuantizeLinear(x, s, z) xd = DequantizeLinear(q, s, z)
      wc = Clip(w, low, high) wd = DequantizeLinear<axis = 0>(wc, ws, wz) bd = DequantizeLinear<axis = 0>(b, bs, wz)
      c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(xd, wd, bd) r = Relu(c)
      q1 = QuantizeLinear(r, t, k) c1 = Clip(q1, ulow, uhigh) x1 = DequantizeLinear(c1, t, k)
      vc = Clip(v, low, high) vd = DequantizeLinear<axis = 0>(vc, vs, wz)
      d = Conv<pads = [1, 1, 1, 1], group = 8>(x1, vd) q2 = QuantizeLinear(d, s, z) x2 = DequantizeLinear(q2, s, z)
      q3 = QuantizeLinear(x1, s, z) x3 = DequantizeLinear(q3, s, z) a = Add(x3, x2)
      q4 = QuantizeLinear(a, s, z) x4 = DequantizeLinear(q4, s, z) r4 = Relu(x4)
      q5 = QuantizeLinear(r4, t, k) c5 = Clip(q5, ulow, uhigh) x5 = DequantizeLinear(c5, t, k)
      p = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x5) q6 = QuantizeLinear(p, t, z)
      x6 = DequantizeLinear(q6, t, z) g = GlobalAveragePool(x6) f = Flatten(g)
      q7 = QuantizeLinear(f, t, z) x7 = DequantizeLinear(q7, t, z)
      lc = Clip(l, low, high) ld = DequantizeLinear<axis = 0>(lc, ls, lz) y = Gemm<transB = 1>(x7, ld, lb) }}"""
    ws, linear = np.full(8, 0.4 / top / 3, np.float32), _bytes(7, 8, low=-top, high=top)
    return text, {
        "w": _bytes(8, 3, 3, 3, low=-top, high=top), "ws": ws, "wz": np.zeros(8, np.int8), "b": _bytes(8),
        "bs": np.full(8, 0.004, np.float32), "v": _bytes(8, 1, 3, 3, low=-top, high=top), "vs": ws,
        "l": linear, "ls": np.full(7, 1 / top, np.float32), "lz": np.zeros(7, np.int8),
        "lb": _floats(7)}, _behind(0.02, linear, 1 / top)


def _brevitas_inputs():
    """The same exporter with parameters as inputs that have a default: the biases are no constants."""
    text = """g (float[2,4,8,8] x, float[6] b) => (float[2,6,8,8] y) <float s = {0.03}, int8 z = {0},
      float t = {0.05}> {
      q = QuantizeLinear(x, s, z) xd = DequantizeLinear(q, s, z) wd = DequantizeLinear(w, t, z)
      c = Conv<pads = [1, 1, 1, 1]>(xd, wd, b) q1 = QuantizeLinear(c, t, z) y = DequantizeLinear(q1, t, z) }"""
    return text, {"w": _bytes(6, 4, 3, 3), "b": _floats(6)}, 0.05


def _brevitas_floats(bits):
    """Brevitas with weights that stay floats, quantized and clipped where they are read (newer releases), biases of
    int32 with scales of their own, and linear layers as Gemm, and as MatMul of transposed weights and Add."""
    top = 2 ** (bits - 1) - 1
    step = round(5 / top, 4)
    text = f"""g (float[2,3,10,10] x) => (float[2,5] y) <float s = {{0.03}}, int8 z = {{0}}, uint8 k = {{0}},
      float t = {{{step}}}, int8 low = {{-{top}}}, int8 high = {{{top}}}, uint8 ulow = {{0}},
      uint8 uhigh = {{{2 * top + 1}}}> {{
      q = QuantizeLinear(x, s, z) xd = DequantizeLinear(q, s, z)
      wq = QuantizeLinear<axis = 0>(w, ws, wz) wc = Clip(wq, low, high) wd = DequantizeLinear<axis = 0>(wc, ws, wz)
      bd = DequantizeLinear<axis = 0>(b, bs) c = Conv(xd, wd, bd) r = Relu(c)
      q1 = QuantizeLinear(r, t, k) c1 = Clip(q1, ulow, uhigh) x1 = DequantizeLinear(c1, t, k)
      g = GlobalAveragePool(x1) f = Flatten(g) q2 = QuantizeLinear(f, t, k) c2 = Clip(q2, ulow, uhigh)
      x2 = DequantizeLinear(c2, t, k) vq = QuantizeLinear(v, vs, z) vc = Clip(vq, low, high)
      vd = DequantizeLinear(vc, vs, z) h = Gemm<transB = 1>(x2, vd, vb) q3 = QuantizeLinear(h, s, z)
      x3 = DequantizeLinear(q3, s, z) lq = QuantizeLinear<axis = 0>(l, ls, lz) lc = Clip(lq, low, high)
      ld = DequantizeLinear<axis = 0>(lc, ls, lz) lt = Transpose<perm = [1, 0]>(ld) m = MatMul(x3, lt)
      lbd = DequantizeLinear<axis = 0>(lb, lbs, lbz) o = Add(m, lbd) q4 = QuantizeLinear(o, s, z)
      y = DequantizeLinear(q4, s, z) }}"""
    random = np.random.default_rng(bits)  # of its own: the other graphs stay as they are
    w, v, linear, bias = (random.standard_normal(shape).astype(np.float32) * np.float32(0.3)
                          for shape in ((8, 3, 3, 3), (6, 8), (5, 6), (6,)))
    ws, ls = (np.abs(one).reshape(len(one), -1).max(1) / np.float32(top) for one in (w, linear))
    biases = [random.integers(-900, 900, size).astype(np.int32) for size in (8, 5)]
    return text, {
        "w": w, "ws": ws, "wz": np.zeros(8, np.int8), "b": biases[0], "bs": ws * np.float32(0.03), "v": v,
        "vs": np.float32(np.abs(v).max() / top), "vb": bias, "l": linear, "ls": ls, "lz": np.zeros(5, np.int8),
        "lb": biases[1], "lbs": ls * np.float32(0.03),
        "lbz": np.zeros(5, np.int32)}, _behind(step, np.abs(linear) @ np.abs(v), 1)


def _modelopt():
    """NVIDIA's tools: symmetric int8 for inputs and weights of products alone; normalizations, sums and results stay
    floats, and every reader has a QuantizeLinear of its own."""
    w, v, linear = _floats(8, 3, 3, 3), _floats(8, 8, 3, 3), _floats(5, 8)
    text = """g (float[2,3,10,10] x) => (float[2,5] y) <float s = {0.03}, int8 z = {0}, float t = {0.05},
      float u = {0.04}> {
      q = QuantizeLinear(x, s, z) xd = DequantizeLinear(q, s, z)
      wq = QuantizeLinear<axis = 0>(w, ws, wz) wd = DequantizeLinear<axis = 0>(wq, ws, wz)
      c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(xd, wd)
      n = BatchNormalization(c, gamma, beta, mean, variance) r = Relu(n)
      q1 = QuantizeLinear(r, t, z) x1 = DequantizeLinear(q1, t, z)
      vq = QuantizeLinear<axis = 0>(v, vs, wz) vd = DequantizeLinear<axis = 0>(vq, vs, wz)
      d = Conv<pads = [1, 1, 1, 1]>(x1, vd) m = BatchNormalization(d, gamma, beta, mean, variance)
      a = Add(m, r) e = Relu(a) g = GlobalAveragePool(e) f = Flatten(g)
      q2 = QuantizeLinear(f, u, z) x2 = DequantizeLinear(q2, u, z)
      lq = QuantizeLinear<axis = 0>(l, ls, lz) ld = DequantizeLinear<axis = 0>(lq, ls, lz)
      y = Gemm<transB = 1>(x2, ld, lb) }"""
    return text, {
        "w": w, "ws": _scales(w, (1, 2, 3)), "wz": np.zeros(8, np.int8), "v": v, "vs": _scales(v, (1, 2, 3)),
        "l": linear, "ls": _scales(linear, 1), "lz": np.zeros(5, np.int8), "lb": _floats(5), "gamma": _floats(8) + 1,
        "beta": _floats(8), "mean": _floats(8), "variance": np.abs(_floats(8)) + 0.3}, _behind(0.04, linear, 1)


def _tflite():
    """TFLite's dynamic ranges: inputs of products are quantized by what they hold, weights are int8 per channel."""
    w, linear, last = _bytes(8, 3, 3, 3), _bytes(32, 16), _bytes(5, 16)
    text = """g (float[2,3,8,8] x) => (float[2,5] y) <> {
      q, s, z = DynamicQuantizeLinear(x) xd = DequantizeLinear(q, s, z) wd = DequantizeLinear<axis = 0>(w, ws, wz)
      c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(xd, wd, cb) r = Relu(c)
      p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r) f = Flatten(p)
      q1, s1, z1 = DynamicQuantizeLinear(f) x1 = DequantizeLinear(q1, s1, z1)
      ld = DequantizeLinear<axis = 1>(l, ls, lz) m = MatMul(x1, ld) m1 = Add(m, lb) t = Tanh(m1)
      q2, s2, z2 = DynamicQuantizeLinear(t) x2 = DequantizeLinear(q2, s2, z2)
      vd = DequantizeLinear<axis = 0>(v, vs, vz) y = Gemm<transB = 1>(x2, vd, vb) }"""
    last_scales = np.full(5, 0.01, np.float32)
    return text, {
        "w": w, "ws": np.full(8, 0.004, np.float32), "wz": np.zeros(8, np.int8), "cb": _floats(8), "l": linear,
        "ls": np.full(16, 0.003, np.float32), "lz": np.zeros(16, np.int8), "lb": _floats(16), "v": last,
        "vs": last_scales, "vz": np.zeros(5, np.int8), "vb": _floats(5)}, _behind(2 / 255, last, last_scales)


def _between_floats():
    """Operators without a form of integers between quantized ones, and a recurrent layer."""
    text = """g (float[2,4,6] x) => (float[2,4,6] y) <float s = {0.03}, uint8 z = {128}, int8 k = {0},
      float t = {0.05}> {
      q = QuantizeLinear(x, s, z) xd = DequantizeLinear(q, s, z) wd = DequantizeLinear(w, t, k)
      c = ConvTranspose<strides = [2], pads = [1, 1]>(xd, wd) q1 = QuantizeLinear(c, t, z)
      x1 = DequantizeLinear(q1, t, z) n = LayerNormalization(x1, gamma, beta) q2 = QuantizeLinear(n, t, z)
      x2 = DequantizeLinear(q2, t, z) h, last = GRU<hidden_size = 6>(x2, gates, again)
      sq = Squeeze(h, one) sum = Add(sq, sq) q3 = QuantizeLinear(sum, t, z) y = DequantizeLinear(q3, t, z) }"""
    return text, {"w": _bytes(4, 4, 2), "gamma": _floats(10) + 1, "beta": _floats(10), "gates": _floats(1, 18, 10),
                  "again": _floats(1, 18, 6), "one": np.int64([1])}, 0.05


SPELLINGS = {
    "torch fake quantize": _torch, "torch converted": _torch_converted, "torch pt2e": _pt2e,
    "tensorflow through tf2onnx": _tensorflow, "brevitas": _brevitas, "brevitas of 4 bits": lambda: _brevitas(4),
    "brevitas with parameters as inputs": _brevitas_inputs,
    "brevitas with floats of 8 bits": lambda: _brevitas_floats(8),
    "brevitas with floats of 4 bits": lambda: _brevitas_floats(4),
    "brevitas with floats of 2 bits": lambda: _brevitas_floats(2),
    "modelopt": _modelopt, "between floats": _between_floats, "tflite with dynamic ranges": _tflite}


SEED = 3


def spelling(name, opset=19):
    """The model, the same one each time, and how far its outputs may move."""
    _RANDOM.bit_generator.state = np.random.default_rng(SEED).bit_generator.state
    text, constants, step = SPELLINGS[name]()
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    for key, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), key))
    return model, step
