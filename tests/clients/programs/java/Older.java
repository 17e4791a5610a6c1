// tests/clients/programs/java/Older.java - what programs for older releases of ONNX Runtime's Java interface call.
// usage: java Older MODELS FOLDER_TO_WRITE_IN
import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxMap;
import ai.onnxruntime.OnnxSequence;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

public class Older {
    static OrtEnvironment environment = OrtEnvironment.getEnvironment();
    static String models;

    interface Call {
        Object run() throws Exception;
    }

    static void say(String name, Call call) {
        String text;
        try {
            text = String.valueOf(call.run());
        } catch (OrtException error) {
            text = "raises " + error.getCode();
        } catch (Throwable error) {
            text = "raises " + error.getClass().getSimpleName();
        }
        System.out.println("result " + name + ": " + text.replace(",", " "));
    }

    static String show(OnnxValue value) throws OrtException {
        Object found = value.getValue();
        return value.getInfo().toString().replaceAll("@[0-9a-f]+", "") + " "
            + (found instanceof Object[] ? Arrays.deepToString((Object[]) found)
                : found instanceof float[] ? Arrays.toString((float[]) found)
                : found instanceof long[] ? Arrays.toString((long[]) found) : String.valueOf(found));
    }

    static String run(String model, OrtSession.SessionOptions options, Map<String, OnnxTensor> feed) throws OrtException {
        try (OrtSession session = environment.createSession(models + "/" + model + ".onnx", options);
             OrtSession.Result result = session.run(feed)) {
            StringBuilder text = new StringBuilder();
            for (Map.Entry<String, OnnxValue> one : result) text.append(one.getKey()).append(' ').append(show(one.getValue()));
            return text.toString();
        } finally {
            for (OnnxTensor tensor : feed.values()) tensor.close();
        }
    }

    static Map<String, OnnxTensor> x(Object value) throws OrtException {
        return Collections.singletonMap("x", OnnxTensor.createTensor(environment, value));
    }

    static OrtSession.SessionOptions plain() {
        return new OrtSession.SessionOptions();
    }

    static float[][] rows() {
        return new float[][] {{1, 2, 3}, {4, 5, 6}};
    }

    static void values() {
        say("floats", () -> run("linear", plain(), x(rows())));
        say("doubles", () -> run("identity_float64", plain(), x(new double[][] {{1.5, -2}})));
        say("longs", () -> run("identity_int64", plain(), x(new long[][] {{1, -2}, {Long.MAX_VALUE, 0}})));
        say("ints", () -> run("identity_int32", plain(), x(new int[][] {{1, -2}})));
        say("bytes", () -> run("identity_int8", plain(), x(new byte[][] {{1, -2}})));
        say("shorts", () -> run("identity_int16", plain(), x(new short[][] {{1, -2}})));
        say("booleans", () -> run("identity_bool", plain(), x(new boolean[][] {{true, false}})));
        say("strings", () -> run("upper", plain(), x(new String[] {"ab", "Cd"})));
        say("strings in rows", () -> run("identity_string", plain(), x(new String[][] {{"", "大 김"}, {"x", "y"}})));
        say("a scalar", () -> run("scalar", plain(), x(new float[] {1, 2, 3})));
        say("a buffer", () -> run("linear", plain(), Collections.singletonMap("x",
            OnnxTensor.createTensor(environment, FloatBuffer.wrap(new float[] {1, 2, 3, 4, 5, 6}), new long[] {2, 3}))));
        say("a direct buffer", () -> {
            FloatBuffer direct = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder()).asFloatBuffer();
            direct.put(new float[] {1, 2, 3, 4, 5, 6}).rewind();
            return run("linear", plain(), Collections.singletonMap("x",
                OnnxTensor.createTensor(environment, direct, new long[] {2, 3})));
        });
        say("bytes of a type", () -> {
            ByteBuffer bytes = ByteBuffer.allocateDirect(4).put(new byte[] {1, (byte) 200, 3, 4}).rewind();
            return run("identity_uint8", plain(), Collections.singletonMap("x",
                OnnxTensor.createTensor(environment, bytes, new long[] {2, 2}, OnnxJavaType.UINT8)));
        });
        say("a buffer back", () -> {
            try (OrtSession session = environment.createSession(models + "/identity_int64.onnx", plain());
                 OnnxTensor tensor = OnnxTensor.createTensor(environment, LongBuffer.wrap(new long[] {7, 8}), new long[] {1, 2});
                 OrtSession.Result result = session.run(Collections.singletonMap("x", tensor))) {
                LongBuffer back = ((OnnxTensor) result.get(0)).getLongBuffer();
                return back.get(0) + " " + back.get(1) + " " + back.remaining();
            }
        });
        for (String kind : new String[] {"int64", "string"})
            say("maps of " + kind, () -> {
                try (OrtSession session = environment.createSession(models + "/zip_map_" + kind + ".onnx", plain());
                     OnnxTensor tensor = OnnxTensor.createTensor(environment, new float[][] {{0.25f, 0.5f, 0.25f}, {1, 0, 0}});
                     OrtSession.Result result = session.run(Collections.singletonMap("x", tensor))) {
                    StringBuilder text = new StringBuilder();
                    for (Object one : ((OnnxSequence) result.get(0)).getValue())
                        text.append(new TreeMap<Object, Object>((Map<?, ?>) (one instanceof OnnxMap ? ((OnnxMap) one).getValue() : one)));
                    return text;
                }
            });
    }

    static void sessions(Path written) {
        say("what a session says", () -> {
            try (OrtSession session = environment.createSession(models + "/linear.onnx", plain())) {
                NodeInfo input = session.getInputInfo().get("x");
                TensorInfo info = (TensorInfo) input.getInfo();
                return input.getName() + " " + Arrays.toString(info.getShape()) + " " + info.type + " "
                    + session.getInputNames() + session.getOutputNames() + session.getNumInputs() + session.getNumOutputs()
                    + " " + session.getMetadata().getProducerName() + " " + session.getMetadata().getGraphName() + " "
                    + session.getMetadata().getVersion() + " " + session.getMetadata().getDomain() + " "
                    + new TreeMap<>(session.getMetadata().getCustomMetadata());
            }
        });
        say("a model as bytes", () -> {
            byte[] bytes = Files.readAllBytes(Path.of(models, "linear.onnx"));
            try (OrtSession session = environment.createSession(bytes, plain());
                 OnnxTensor tensor = OnnxTensor.createTensor(environment, rows());
                 OrtSession.Result result = session.run(Map.of("x", tensor), Collections.singleton("y"))) {
                return show(result.get("y").get());
            }
        });
        say("options", () -> {
            OrtSession.SessionOptions options = plain();
            options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.EXTENDED_OPT);
            options.setExecutionMode(OrtSession.SessionOptions.ExecutionMode.PARALLEL);
            options.setIntraOpNumThreads(2);
            options.setInterOpNumThreads(2);
            options.setMemoryPatternOptimization(false);
            options.setCPUArenaAllocator(false);
            options.setLoggerId("mine");
            options.setOptimizedModelFilePath(written.resolve("better.onnx").toString());
            options.enableProfiling(written.resolve("profile").toString());
            String found = run("linear", options, x(rows()));
            try (var files = Files.list(written)) {
                return found + " " + files.count();
            }
        });
        say("an option by its key", () -> {
            OrtSession.SessionOptions options = plain();
            options.addConfigEntry("session.intra_op.allow_spinning", "0");
            return run("linear", options, x(rows()));
        });
        say("several outputs", () -> {
            try (OrtSession session = environment.createSession(models + "/two_of_two.onnx", plain());
                 OnnxTensor a = OnnxTensor.createTensor(environment, new float[] {1, 2});
                 OnnxTensor b = OnnxTensor.createTensor(environment, new float[] {3, 4});
                 OrtSession.Result result = session.run(Map.of("a", a, "b", b), Collections.singleton("product"))) {
                return show(result.get(0)) + " " + result.size() + " " + result.get("sum").isPresent();
            }
        });
        say("wrong type", () -> run("linear", plain(), x(new double[][] {{1, 2, 3}})));
        say("wrong shape", () -> run("linear", plain(), x(new float[][] {{1, 2}})));
        say("wrong name", () -> run("linear", plain(), Map.of("z", OnnxTensor.createTensor(environment, rows()))));
        say("nothing", () -> run("linear", plain(), Map.of()));
        say("no file", () -> run("nowhere", plain(), Map.of()));
        say("no model", () -> run("broken", plain(), Map.of()));
        say("no operator", () -> run("custom_op", plain(), x(new float[] {1})));
        say("ragged rows", () -> run("linear", plain(), x(new float[][] {{1, 2, 3}, {1}})));
        say("closed", () -> {
            OrtSession session = environment.createSession(models + "/linear.onnx", plain());
            session.close();
            return session.run(x(rows()));
        });
    }

    public static void main(String[] arguments) throws Exception {
        models = arguments[0];
        values();
        sessions(Path.of(arguments[1]));
        System.exit(0);
    }
}
