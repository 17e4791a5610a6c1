// tests/clients/programs/java/Djl.java - runs models through DJL's engine for ONNX Runtime and prints what they give.
// usage: java Djl MODELS FOLDER_TO_WRITE_IN
import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.NoopTranslator;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class Djl {
    static Path models;

    interface Call {
        String run() throws Exception;
    }

    static void say(String name, Call call) {
        String text;
        try {
            text = call.run();
        } catch (Throwable error) {
            text = "raises " + error.getClass().getSimpleName();
        }
        System.out.println("result " + name + ": " + text.replace('\n', ' '));
    }

    static Criteria<NDList, NDList> criteria(String name, String... options) {
        Criteria.Builder<NDList, NDList> builder = Criteria.builder().setTypes(NDList.class, NDList.class)
            .optModelPath(models).optModelName(name + ".onnx").optEngine("OnnxRuntime").optDevice(Device.cpu())
            .optTranslator(new NoopTranslator());
        for (int i = 0; i < options.length; i += 2) builder.optOption(options[i], options[i + 1]);
        return builder.build();
    }

    static String numbers(NDList list) {
        return list.stream().map(one -> one.getName() + " " + one.getShape() + " " + one.getDataType() + " "
            + (one.getDataType() == DataType.STRING ? Arrays.toString(one.toStringArray())
                                                    : Arrays.toString(one.toArray()))).collect(Collectors.joining(" "))
            .replace(",", "");
    }

    static String run(String name, Inputs inputs, String... options) throws Exception {
        try (ZooModel<NDList, NDList> model = criteria(name, options).loadModel();
             Predictor<NDList, NDList> predictor = model.newPredictor()) {
            try (NDManager manager = model.getNDManager().newSubManager()) {
                return numbers(predictor.predict(inputs.make(manager)));
            }
        }
    }

    interface Inputs {
        NDList make(NDManager manager);
    }

    static NDList rows(NDManager manager) {
        return new NDList(manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(2, 3)));
    }

    public static void main(String[] arguments) throws Exception {
        models = Path.of(arguments[0]);
        Path written = Path.of(arguments[1]);
        say("engine", () -> Engine.getEngine("OnnxRuntime").getEngineName());
        say("linear", () -> run("linear", Djl::rows));
        say("external weights", () -> run("linear_external", Djl::rows));
        say("options", () -> run("linear", Djl::rows, "interOpNumThreads", "1", "intraOpNumThreads", "2",
            "executionMode", "SEQUENTIAL", "optLevel", "EXTENDED_OPT", "memoryPatternOptimization", "true",
            "cpuArenaAllocator", "false", "disablePerSessionThreads", "false"));
        for (String level : List.of("NO_OPT", "BASIC_OPT", "EXTENDED_OPT", "ALL_OPT"))
            say("optimized " + level, () -> run("linear", Djl::rows, "optLevel", level, "executionMode", "PARALLEL"));
        say("profile", () -> {
            String kept = run("linear", Djl::rows, "profilerOutput", written.resolve("profile").toString());
            try (var files = Files.list(written)) {
                return kept + " " + files.filter(file -> file.toString().endsWith(".json")).count();
            }
        });
        say("doubles", () -> run("identity_float64", m -> new NDList(m.create(new double[] {1.5, -2}, new Shape(1, 2)))));
        say("ints", () -> run("identity_int32", m -> new NDList(m.create(new int[] {1, -2}, new Shape(1, 2)))));
        say("longs", () -> run("identity_int64", m -> new NDList(m.create(new long[] {1, -2}, new Shape(1, 2)))));
        say("bytes", () -> run("identity_int8", m -> new NDList(m.create(new byte[] {1, -2}, new Shape(1, 2)))));
        say("bools", () -> run("identity_bool", m -> new NDList(m.create(new boolean[] {true, false}, new Shape(1, 2)))));
        say("strings", () -> run("upper", m -> new NDList(m.create(new String[] {"ab", "Cd", "ż"}))));
        say("strings through", () -> run("identity_string", m ->
            new NDList(m.create(new String[] {"", "大 김", "x", "y"}, new Shape(2, 2)))));
        say("two of two", () -> run("two_of_two", m ->
            new NDList(m.create(new float[] {1, 2}), m.create(new float[] {3, 4}))));
        say("inputs by name", () -> run("two_of_two", m -> {
            NDArray second = m.create(new float[] {3, 4}), first = m.create(new float[] {1, 2});
            second.setName("b");
            first.setName("a");
            return new NDList(first, second);
        }));
        say("scalar", () -> run("scalar", m -> new NDList(m.create(new float[] {1, 2, 3}))));
        say("wrong type", () -> run("linear", m -> new NDList(m.create(new int[6], new Shape(2, 3)))));
        say("wrong shape", () -> run("linear", m -> new NDList(m.create(new float[8], new Shape(2, 4)))));
        say("wrong rank", () -> run("linear", m -> new NDList(m.create(new float[6]))));
        say("too few inputs", () -> run("two_of_two", m -> new NDList(m.create(new float[] {1, 2}))));
        say("broken model", () -> run("broken", Djl::rows));
        say("unknown operator", () -> run("custom_op", m -> new NDList(m.create(new float[] {1}))));
        say("a model of a stream", () -> {
            try (ai.djl.Model model = ai.djl.Model.newInstance("linear", Device.cpu(), "OnnxRuntime")) {
                model.load(Files.newInputStream(models.resolve("linear.onnx")));
                try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                    return numbers(predictor.predict(rows(model.getNDManager())));
                }
            }
        });
        say("described", () -> {
            try (ZooModel<NDList, NDList> model = criteria("linear").loadModel()) {
                return model.describeInput() + " " + model.describeOutput();
            }
        });
        say("many threads", () -> {
            ExecutorService pool = Executors.newFixedThreadPool(4);
            try (ZooModel<NDList, NDList> model = criteria("linear").loadModel()) {
                List<Future<String>> told = IntStream.range(0, 32).mapToObj(i -> pool.submit(() -> {
                    try (Predictor<NDList, NDList> predictor = model.newPredictor();
                         NDManager manager = model.getNDManager().newSubManager()) {
                        return numbers(predictor.predict(new NDList(manager.create(new float[] {i, 1, 1},
                                                                                  new Shape(1, 3)))));
                    }
                })).collect(Collectors.toList());
                StringBuilder all = new StringBuilder();
                for (Future<String> one : told) all.append(one.get()).append(' ');
                return all.toString();
            } finally {
                pool.shutdown();
            }
        });
        say("a batch", () -> {
            try (ZooModel<NDList, NDList> model = criteria("linear").loadModel();
                 Predictor<NDList, NDList> predictor = model.newPredictor()) {
                NDManager manager = model.getNDManager();
                return predictor.batchPredict(List.of(rows(manager), rows(manager), rows(manager))).stream()
                    .map(Djl::numbers).collect(Collectors.joining(" "));
            }
        });
        System.exit(0);
    }
}
