"""Exports small networks of Keras with fake quantization through tf2onnx, and 8-bit TFLite files as they are:
`python export_tensorflow.py FOLDER`.

Needs an environment of its own: tensorflow, tf_keras, tensorflow-model-optimization, tf2onnx.
"""
import os
import pathlib
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import tf2onnx
import tf_keras
from tf_keras import layers

np.object = object


def residual():
    x = image = tf_keras.Input((32, 32, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, 2, "same", use_bias=False)(x)))
    x = layers.MaxPool2D()(x)
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, 1, "same")(x)))
    y = layers.BatchNormalization()(layers.Conv2D(16, 3, 1, "same")(y))
    x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.Concatenate()([layers.AveragePooling2D()(x), layers.MaxPool2D()(x)])
    x = layers.Flatten()(layers.GlobalAveragePooling2D()(x))
    return tf_keras.Model(image, layers.Softmax()(layers.Dense(10)(x)))


def mobile():
    x = image = tf_keras.Input((32, 32, 3))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(16, 3, 2, "same", use_bias=False)(x)))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.DepthwiseConv2D(3, 1, "same", use_bias=False)(x)))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(24, 1, use_bias=False)(x)))
    x = layers.UpSampling2D(2)(layers.Conv2D(8, 1)(x))
    return tf_keras.Model(image, layers.Reshape((-1, 8))(x))


def trained(model):
    """Statistics as after some training."""
    random = np.random.default_rng(1)
    for layer in model.layers:
        inner = getattr(layer, "layer", layer)
        if isinstance(inner, layers.BatchNormalization):
            n = inner.gamma.shape[0]
            inner.set_weights([random.uniform(0.5, 1.5, n), random.normal(0, 0.3, n), random.normal(0, 0.2, n),
                               random.uniform(0.3, 1.2, n)])
    return model


def aware(model):
    """tensorflow-model-optimization inserts FakeQuantWithMinMaxVars; a few steps of training set the ranges."""
    import tensorflow_model_optimization as tfmot

    model = tfmot.quantization.keras.quantize_model(model)
    model.compile(tf_keras.optimizers.SGD(1e-4), "mse")
    x = np.random.default_rng(2).standard_normal((16, *model.input_shape[1:])).astype(np.float32)
    model.fit(x, np.zeros((16, *model.output_shape[1:]), np.float32), epochs=3, verbose=0)
    return model


class FakeQuant(layers.Layer):
    """Fake quantization as tf.quantization has it, of given range."""

    def __init__(self, low, high, **arguments):
        super().__init__()
        self.low, self.high, self.arguments = low, high, arguments

    def call(self, x):
        return tf.quantization.fake_quant_with_min_max_vars(x, self.low, self.high, **self.arguments)


class Products(tf_keras.Model):
    """Products whose weights are quantized by channel, in tf.quantization's functions: 8 bits, narrow range."""

    def __init__(self):
        super().__init__()
        random = np.random.default_rng(5)
        self.w = tf.Variable(random.standard_normal((3, 3, 3, 8)).astype(np.float32) * 0.2)
        self.d = tf.Variable(random.standard_normal((3, 3, 8, 1)).astype(np.float32) * 0.3)
        self.m = tf.Variable(random.standard_normal((8, 6)).astype(np.float32) * 0.3)
        self.low, self.high = -4.0, 4.0

    def fake(self, x, high=4.0):
        return tf.quantization.fake_quant_with_min_max_vars(x, -high, high)

    def call(self, x):
        narrow = dict(narrow_range=True)
        w = tf.quantization.fake_quant_with_min_max_vars(self.w, -0.8, 0.8, **narrow)
        x = self.fake(tf.nn.relu6(tf.nn.conv2d(self.fake(x), w, 2, "SAME")))
        d = tf.quantization.fake_quant_with_min_max_vars(self.d, -1.0, 1.0, **narrow)
        x = self.fake(tf.nn.depthwise_conv2d(x, d, (1, 1, 1, 1), "SAME"))
        m = tf.quantization.fake_quant_with_min_max_vars(self.m, -1.0, 1.0, **narrow)
        return self.fake(tf.nn.bias_add(tf.matmul(self.fake(tf.reduce_mean(x, (1, 2))), m), np.float32([.1] * 6)))


def as_tflite(model, path):
    x = np.random.default_rng(2).standard_normal((16, 1, *model.input_shape[1:])).astype(np.float32)
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([each] for each in x)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    data = converter.convert()
    pathlib.Path(path.replace(".onnx", ".tflite")).write_bytes(data)
    tf2onnx.convert.from_tflite(path.replace(".onnx", ".tflite"), opset=17, output_path=path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    def attempt(name, make):
        path = str(folder / f"{name}.onnx")
        try:
            make(path)
            print("exported", name)
        except Exception as error:
            print("not exported", name, type(error).__name__, str(error)[:300])

    def keras(model, path):
        tf2onnx.convert.from_keras(model, [tf.TensorSpec((2, *model.input_shape[1:]), tf.float32, name="x")],
                                   opset=17, output_path=path)

    def products(path):
        model = Products()
        function = tf.function(model.call, [tf.TensorSpec((2, 16, 16, 3), tf.float32, name="x")])
        tf2onnx.convert.from_function(function, function.input_signature, opset=17, output_path=path)

    for name, make in (("residual", residual), ("mobile", mobile)):
        attempt(f"keras_aware_{name}", lambda path, make=make: keras(aware(trained(make())), path))
        attempt(f"tflite_{name}", lambda path, make=make: as_tflite(trained(make()), path))
    attempt("tf_products", products)


if __name__ == "__main__":
    main()
