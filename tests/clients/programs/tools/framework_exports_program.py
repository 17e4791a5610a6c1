"""Prints what models compute that Keras and TensorFlow (by tf2onnx), Paddle (by paddle2onnx) and JAX (by jax2onnx)
export, and whether it is what the framework itself computes. The argument names the framework."""
import logging
import os
import pathlib
import sys
import tempfile

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "GLOG_minloglevel": "3"}
import numpy as np
import onnxruntime

logging.disable(logging.WARNING)
RANDOM = np.random.default_rng(0)


def say(name, *values):
    print(f"result {name}:", *("_".join(str(value).split()) for value in values), flush=True)


def numbers(array):
    """A few elements, the mean and the deviation of an array."""
    array = np.asarray(array, np.float64).ravel()
    kept = array[:: max(1, array.size // 8)][:8]
    return [array.size, *(f"{value:.4f}" for value in (*kept, array.mean(), array.std()))]


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def attempt(name, export, path, feeds, call):
    """Exports and compares. What does not export, or not load in ONNX Runtime, gives no line, and so no test."""
    try:
        export(path)
        expected = call()
        compare(name, path, feeds, list(expected) if isinstance(expected, list | tuple) else [expected])
    except Exception as error:
        print(f"left out: {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)


def compare(name, path, feeds, expected):
    """Runs a model, and says what it gives if the framework gives the same: ONNX Runtime itself does not always."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = [value.name for value in session.get_inputs()]
    found = session.run(None, dict(zip(given, feeds, strict=True)))
    say(f"{name}, types", *(value.type for value in (*session.get_inputs(), *session.get_outputs())))
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one.dtype == object:
            say(f"{name}, output {number}", *one.ravel())
            continue
        other = np.asarray(other)
        close = one.shape == other.shape and np.allclose(one, other, rtol=1e-3, atol=1e-3)
        if close:
            say(f"{name}, output {number}", one.dtype, *one.shape, *numbers(one))
        else:
            print(f"left out: {name}, output {number}: the framework computes something else", flush=True)


def keras_models():
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(0)

    def built(shape, *chain):
        given = value = keras.Input(shape)
        for layer in chain:
            value = layer(value)
        return keras.Model(given, value)

    yield "mobilenet", keras.applications.MobileNetV2((64, 64, 3), alpha=0.35, weights=None, classes=10), (2, 64, 64, 3)
    yield "recurrent", built((20, 8), layers.LSTM(16, return_sequences=True),
                             layers.Bidirectional(layers.GRU(12, return_sequences=True)),
                             layers.SimpleRNN(6, return_sequences=True), layers.Dense(5, "softmax")), (3, 20, 8)
    yield "attention", built((16, 32), lambda x: layers.MultiHeadAttention(4, 8)(x, x) + x,
                             layers.LayerNormalization(), layers.Dense(64, "silu"), layers.UnitNormalization(),
                             layers.GlobalAveragePooling1D()), (2, 16, 32)
    yield "images", built((24, 24, 4), layers.SeparableConv2D(8, 3, padding="same", activation="swish"),
                          layers.Conv2DTranspose(6, 3, strides=2, padding="same"),
                          layers.UpSampling2D(2, interpolation="bilinear"), layers.GroupNormalization(3),
                          layers.PReLU(), layers.MaxPooling2D(3, 2, padding="same"), layers.ZeroPadding2D((1, 2)),
                          layers.DepthwiseConv2D(3, 2, padding="same", depth_multiplier=2)), (2, 24, 24, 4)
    yield "convlstm", built((6, 6, 6, 3), layers.ConvLSTM2D(4, 3, padding="same"), layers.Flatten()), (1, 6, 6, 6, 3)
    yield "volumes", built((10, 12, 12, 2), layers.Conv3D(4, 3, padding="same", activation="selu"),
                           layers.AveragePooling3D(2), layers.Cropping3D(1)), (1, 10, 12, 12, 2)
    yield "signals", built((40, 3), layers.Conv1D(8, 5, dilation_rate=2, padding="causal", activation="elu"),
                           layers.MaxPooling1D(2), layers.BatchNormalization(), layers.LeakyReLU(),
                           layers.UpSampling1D(3), layers.GlobalMaxPooling1D(), layers.RepeatVector(3),
                           layers.Permute((2, 1))), (2, 40, 3)


def tensorflow_functions():
    """Each with the values that it is called with: what graphs have that layers have not."""
    import tensorflow as tf

    def loop(x):
        return tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.tanh(v) * 1.5), (0, x))[1]

    def arrays(x):
        kept = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(tf.shape(x)[0]):
            kept = kept.write(i, tf.cumsum(x[i]) if tf.reduce_sum(x[i]) > 0 else tf.sort(x[i]))
        return kept.stack()

    def boxes(points, scores):
        kept = tf.image.non_max_suppression(points, scores, 5, 0.3, 0.1)
        return tf.gather(points, kept), kept

    def resized(x):
        return (tf.image.resize(x, (13, 17)), tf.image.resize(x, (5, 30), "nearest"),
                tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9]], [0], (6, 6)))

    def indices(x):
        top = tf.math.top_k(x, 3)
        return (top.values, top.indices, tf.where(x > 1), tf.one_hot(tf.argmax(x, 1), 8),
                tf.tensor_scatter_nd_update(x, [[0, 1], [1, 2]], [9.0, 8.0]), tf.reverse(x, [1]))

    def sums(x):
        return (tf.einsum("bij,bkj->bik", x, x), tf.linalg.band_part(x[0], 0, -1), tf.reduce_logsumexp(x, -1),
                tf.math.segment_sum(x[0], [0, 0, 1, 1]), tf.floormod(x, 0.7), tf.math.erf(x), tf.roll(x, 2, 1))

    def words(x):
        return tf.strings.lower(x), tf.equal(x, "One")

    corners = RANDOM.uniform(0, 1, (12, 2)).astype(np.float32)
    yield "loop", loop, [normal(2, 5)]
    yield "arrays", arrays, [normal(4, 6)]
    yield "boxes", boxes, [np.concatenate([corners, corners + 0.4], 1), RANDOM.uniform(size=12).astype(np.float32)]
    yield "resized", resized, [normal(1, 8, 9, 2)]
    yield "indices", indices, [normal(3, 8)]
    yield "sums", sums, [normal(2, 4, 4)]
    yield "signal", lambda x: tf.signal.dct(x), [normal(2, 16)]
    yield "words", words, [np.array(["One", "TWO", "three"], object)]


def with_tensorflow(folder):
    import tensorflow as tf
    import tf2onnx

    for name, model, shape in keras_models():
        x = normal(*shape)
        expected = model(x, training=False)  # Keras exports only what was called
        attempt(f"keras {name}", lambda path, model=model: model.export(path, format="onnx", verbose=False),
                folder / "keras.onnx", [x], lambda expected=expected: expected)
        for opset in (9, 13, 18) if name in ("mobilenet", "recurrent", "signals") else ():
            specs = [tf.TensorSpec((None, *shape[1:]), tf.float32)]
            attempt(f"tf2onnx {name}, opset {opset}", lambda path, model=model, opset=opset, specs=specs:
                    tf2onnx.convert.from_function(tf.function(lambda value: model(value, training=False)), specs,
                                                  opset=opset, output_path=path),
                    folder / "tf.onnx", [x], lambda expected=expected: expected)
    for name, function, feeds in tensorflow_functions():
        compiled = tf.function(function)
        specs = [tf.TensorSpec(value.shape, tf.string if value.dtype == object else value.dtype) for value in feeds]
        attempt(f"tf2onnx {name}", lambda path, compiled=compiled, specs=specs:
                tf2onnx.convert.from_function(compiled, specs, opset=18, output_path=path),
                folder / "tf.onnx", feeds, lambda compiled=compiled, feeds=feeds: compiled(*map(tf.constant, feeds)))


def with_paddle(folder):
    import paddle

    paddle.seed(0)
    nn = paddle.nn

    class Words(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(50, 32)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0), 2)
            self.out = nn.Linear(32, 5)

        def forward(self, ids):
            return self.out(self.encoder(self.embedding(ids))).argmax(-1), self.embedding(ids).mean(1)

    class Recurrent(nn.Layer):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 12, direction="bidirect")
            self.gru = nn.GRU(24, 6)

        def forward(self, x):
            return self.gru(self.lstm(x)[0])[0]

    class Images(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2D(3, 8, 3, padding=1)
            self.norm = nn.GroupNorm(2, 8)
            self.up = nn.Conv2DTranspose(8, 4, 2, 2)

        def forward(self, x):
            y = nn.functional.hardswish(self.norm(self.conv(x)))
            y = nn.functional.interpolate(self.up(y), size=[40, 44], mode="bilinear")
            return nn.functional.avg_pool2d(y, 5, 3), paddle.topk(y.flatten(1), 4)[0]

    vision = paddle.vision.models
    cases = [("mobilenet", vision.mobilenet_v3_small(num_classes=10), [normal(2, 3, 64, 64)]),
             ("resnet", vision.resnet18(num_classes=10), [normal(1, 3, 64, 64)]),
             ("shufflenet", vision.shufflenet_v2_x0_25(num_classes=10), [normal(1, 3, 64, 64)]),
             ("words", Words(), [RANDOM.integers(0, 50, (2, 9))]), ("recurrent", Recurrent(), [normal(2, 11, 8)]),
             ("images", Images(), [normal(1, 3, 12, 12)])]
    for name, layer, feeds in cases:
        layer.eval()
        specs = [paddle.static.InputSpec([None, *value.shape[1:]], str(value.dtype)) for value in feeds]
        attempt(f"paddle2onnx {name}", lambda path, layer=layer, specs=specs:
                paddle.onnx.export(layer, str(path.with_suffix("")), input_spec=specs, opset_version=15),
                folder / f"{name}.onnx", feeds,
                lambda layer=layer, feeds=feeds: layer(*(paddle.to_tensor(value) for value in feeds)))


def with_jax(folder):
    import jax
    import jax.numpy as jnp
    from flax import nnx
    from jax2onnx import to_onnx

    rngs = nnx.Rngs(0)

    class Block(nnx.Module):
        def __init__(self):
            self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)
            self.norm, self.dense = nnx.LayerNorm(32, rngs=rngs), nnx.Linear(32, 32, rngs=rngs)

        def __call__(self, x):
            return nnx.gelu(self.dense(self.norm(x + self.attention(x))))

    class Pictures(nnx.Module):
        def __init__(self):
            self.first, self.norm = nnx.Conv(3, 8, (3, 3), rngs=rngs), nnx.GroupNorm(8, 4, rngs=rngs)
            self.last = nnx.Linear(8, 5, rngs=rngs)

        def __call__(self, x):
            x = nnx.max_pool(nnx.relu(self.norm(self.first(x))), window_shape=(2, 2), strides=(2, 2))
            return nnx.softmax(self.last(x.mean((1, 2))))

    def scanned(x):
        return jax.lax.scan(lambda carry, row: (carry * 0.5 + row, jnp.sin(carry)), jnp.zeros(4), x)

    def looped(x):
        return jax.lax.while_loop(lambda pair: pair[0] < 4, lambda pair: (pair[0] + 1, jnp.cos(pair[1])), (0, x))[1]

    def chosen(x):
        return jax.lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), jnp.where(x > 0, x, jnp.exp(x))

    def sorted_sums(x):
        return (jnp.sort(x, 1), jnp.cumsum(x, axis=0), jnp.argmax(x, 1), jnp.einsum("ij,kj->ik", x, x),
                jnp.clip(x, -1, 0.5))

    cases = [("block", Block(), [(2, 7, 32)]), ("pictures", Pictures(), [(2, 16, 16, 3)]), ("scan", scanned, [(6, 4)]),
             ("loop", looped, [(3, 5)]), ("cond", chosen, [(3, 4)]), ("sorts", sorted_sums, [(4, 6)])]
    for name, function, shapes in cases:
        feeds = [normal(*shape) for shape in shapes]
        attempt(f"jax2onnx {name}", lambda path, function=function, shapes=shapes:
                to_onnx(function, inputs=shapes, return_mode="file", output_path=path), folder / f"{name}.onnx", feeds,
                lambda function=function, feeds=feeds: jax.tree.leaves(function(*feeds)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        {"tensorflow": with_tensorflow, "paddle": with_paddle, "jax": with_jax}[sys.argv[1]](pathlib.Path(made))
    print("end")
