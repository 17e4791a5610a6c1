// tests/clients/programs/java/Program.java - asks ONNX Runtime's Java interface for what it has.
// usage: java -cp onnxruntime.jar Program.java MODELS FOLDER_TO_WRITE_IN
import ai.onnxruntime.*;
import ai.onnxruntime.OrtException.OrtErrorCode;
import java.nio.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

public class Program {
  interface Test { void run() throws Exception; }
  static final Map<String, Test> tests = new LinkedHashMap<>();
  static final float[][] X = {{1, 2, 3}, {4, 5, 6}}, LINEAR = {{22.5f, 27.5f}, {49.5f, 63.5f}};
  static OrtEnvironment env;
  static Path models, written;

  static void check(boolean right, Object found) {
    if (!right) throw new AssertionError("found " + (found instanceof Object[] a ? Arrays.deepToString(a) : found));
  }
  static void same(Object expected, Object found) {
    check(Objects.deepEquals(expected, found), found);
  }
  static void fails(OrtErrorCode code, Test action) throws Exception {
    try {
      action.run();
    } catch (OrtException error) {
      check(code == null || error.getCode() == code, error.getCode() + " " + error.getMessage());
      check(!error.getMessage().isEmpty(), "an error without a message");
      return;
    }
    throw new AssertionError("no error");
  }
  static String file(String name) { return models.resolve(name + ".onnx").toString(); }
  static OrtSession open(String name) throws OrtException { return env.createSession(file(name)); }
  static void linear(OrtSession session) throws OrtException {
    try (var x = OnnxTensor.createTensor(env, X); var result = session.run(Map.of("x", x))) {
      same(LINEAR, result.get(0).getValue());
    }
  }
  static void identity(String type, Object values, OnnxJavaType java) throws OrtException {
    try (var session = open("identity_" + type); var x = OnnxTensor.createTensor(env, values);
         var result = session.run(Map.of("x", x))) {
      var y = (OnnxTensor) result.get("y").get();
      same(java, y.getInfo().type);
      same(new long[] {2, 2}, y.getInfo().getShape());
      same(values, y.getValue());
      var info = (TensorInfo) session.getInputInfo().get("x").getInfo();
      same(new long[] {-1, 2}, info.getShape());
      same("rows", info.getDimensionNames()[0]);
    }
  }
  static <B extends Buffer> B direct(int bytes, java.util.function.Function<ByteBuffer, B> view) {
    return view.apply(ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()));
  }

  static void valueTests() {
    tests.put("float", () -> identity("float32", new float[][] {{1, -2}, {0, Float.MAX_VALUE}}, OnnxJavaType.FLOAT));
    tests.put("double", () -> identity("float64", new double[][] {{1, -2}, {0, 1e300}}, OnnxJavaType.DOUBLE));
    tests.put("byte", () -> identity("int8", new byte[][] {{1, -2}, {0, -128}}, OnnxJavaType.INT8));
    tests.put("short", () -> identity("int16", new short[][] {{1, -2}, {0, -32768}}, OnnxJavaType.INT16));
    tests.put("int", () -> identity("int32", new int[][] {{1, -2}, {0, Integer.MIN_VALUE}}, OnnxJavaType.INT32));
    tests.put("long", () -> identity("int64", new long[][] {{1, -2}, {0, Long.MIN_VALUE}}, OnnxJavaType.INT64));
    tests.put("boolean", () -> identity("bool", new boolean[][] {{true, false}, {false, true}}, OnnxJavaType.BOOL));
    tests.put("String", () -> identity("string", new String[][] {{"", "a"}, {"ż 大 김", "long".repeat(99)}},
                                       OnnxJavaType.STRING));
    tests.put("unsigned bytes in a buffer", () -> {
      var bytes = direct(4, b -> b);
      bytes.put(new byte[] {0, 1, -1, 2}).rewind();
      try (var session = open("identity_uint8"); var x = OnnxTensor.createTensor(env, bytes, new long[] {2, 2},
           OnnxJavaType.UINT8); var result = session.run(Map.of("x", x))) {
        var y = (OnnxTensor) result.get(0);
        same(OnnxJavaType.UINT8, y.getInfo().type);
        same(bytes, y.getByteBuffer());
      }
    });
    for (var type : List.of(OnnxJavaType.FLOAT16, OnnxJavaType.BFLOAT16))
      tests.put(type + " in a buffer", () -> {
        var shorts = direct(8, ByteBuffer::asShortBuffer);
        for (float value : new float[] {1, -2, 0, 0.5f})
          shorts.put(type == OnnxJavaType.FLOAT16 ? ai.onnxruntime.platform.Fp16Conversions.floatToFp16(value)
                                                  : ai.onnxruntime.platform.Fp16Conversions.floatToBf16(value));
        shorts.rewind();
        try (var session = open("identity_" + type.toString().toLowerCase()); var x = OnnxTensor.createTensor(env,
             shorts, new long[] {2, 2}, type); var result = session.run(Map.of("x", x))) {
          same(new float[][] {{1, -2}, {0, 0.5f}}, result.get(0).getValue());
        }
      });
    tests.put("buffers of every kind", () -> {
      var f = direct(16, ByteBuffer::asFloatBuffer);
      f.put(new float[] {1, 2, 3, 4}).rewind();
      try (var t = OnnxTensor.createTensor(env, f, new long[] {4})) { same(f, t.getFloatBuffer()); same(true, t.ownsBuffer() || t.getBufferRef().isPresent()); }
      try (var t = OnnxTensor.createTensor(env, DoubleBuffer.wrap(new double[] {1, 2}), new long[] {2})) {
        same(DoubleBuffer.wrap(new double[] {1, 2}), t.getDoubleBuffer());
      }
      try (var t = OnnxTensor.createTensor(env, LongBuffer.wrap(new long[] {1, 2}), new long[] {1, 2})) {
        same(LongBuffer.wrap(new long[] {1, 2}), t.getLongBuffer());
      }
      try (var t = OnnxTensor.createTensor(env, IntBuffer.wrap(new int[] {1, 2}), new long[] {2, 1})) {
        same(IntBuffer.wrap(new int[] {1, 2}), t.getIntBuffer());
      }
      try (var t = OnnxTensor.createTensor(env, new String[] {"a", "b"}, new long[] {2, 1})) {
        same(new String[][] {{"a"}, {"b"}}, t.getValue());
      }
    });
    tests.put("scalars", () -> {
      try (var t = OnnxTensor.createTensor(env, 5f)) { same(5f, t.getValue()); check(t.getInfo().isScalar(), t); }
      try (var t = OnnxTensor.createTensor(env, "text")) { same("text", t.getValue()); }
      try (var session = open("scalar"); var x = OnnxTensor.createTensor(env, new float[] {1, 2, 3});
           var result = session.run(Map.of("x", x))) { same(6f, result.get(0).getValue()); }
    });
    tests.put("an empty tensor", () -> {
      try (var session = open("identity_float32"); var x = OnnxTensor.createTensor(env, FloatBuffer.allocate(0),
           new long[] {0, 2}); var result = session.run(Map.of("x", x))) {
        same(new long[] {0, 2}, ((OnnxTensor) result.get(0)).getInfo().getShape());
      }
    });
    tests.put("sequence of tensors out", () -> {
      try (var session = open("to_sequence"); var a = OnnxTensor.createTensor(env, new float[] {1, 2});
           var b = OnnxTensor.createTensor(env, new float[] {3}); var result = session.run(Map.of("a", a, "b", b))) {
        var info = (SequenceInfo) session.getOutputInfo().get("s").getInfo();
        check(!info.isSequenceOfMaps() && info.sequenceType == OnnxJavaType.FLOAT, info);
        var sequence = (OnnxSequence) result.get(0);
        same(2, sequence.getValue().size());
        same(new float[] {3}, sequence.getValue().get(1).getValue());
      }
    });
    tests.put("maps with integer keys", () -> {
      try (var session = open("zip_map_int64"); var x = OnnxTensor.createTensor(env, X);
           var result = session.run(Map.of("x", x))) {
        var info = (SequenceInfo) session.getOutputInfo().get("z").getInfo();
        check(info.isSequenceOfMaps() && info.mapInfo.keyType == OnnxJavaType.INT64, info);
        var maps = ((OnnxSequence) result.get(0)).getValue();
        same(Map.of(10L, 4f, 20L, 5f, 30L, 6f), new HashMap<>(((OnnxMap) maps.get(1)).getValue()));
      }
    });
    tests.put("maps with string keys", () -> {
      try (var session = open("zip_map_string"); var x = OnnxTensor.createTensor(env, X);
           var result = session.run(Map.of("x", x))) {
        var map = (OnnxMap) ((OnnxSequence) result.get(0)).getValue().get(0);
        same(OnnxJavaType.STRING, map.getInfo().keyType);
        same(3, map.size());
        same(Map.of("a", 1f, "b", 2f, "c", 3f), new HashMap<>(map.getValue()));
      }
    });
    tests.put("sparse COO", () -> {
      var coo = new OnnxSparseTensor.COOTensor(LongBuffer.wrap(new long[] {0, 1, 1, 2}), new long[] {2, 2},
          FloatBuffer.wrap(new float[] {5, 7}), new long[] {2, 3}, OnnxJavaType.FLOAT, 2);
      try (var tensor = OnnxSparseTensor.createSparseTensor(env, coo)) {
        same(OnnxSparseTensor.SparseTensorType.COO, tensor.getSparseTensorType());
        same(new long[] {2}, tensor.getValuesShape());
        same(FloatBuffer.wrap(new float[] {5, 7}), tensor.getValuesBuffer());
        same(LongBuffer.wrap(new long[] {0, 1, 1, 2}), tensor.getIndicesBuffer());
        same(new long[] {2, 2}, tensor.getIndicesShape());
      }
    });
    tests.put("sparse CSR", () -> {
      var csr = new OnnxSparseTensor.CSRCTensor(LongBuffer.wrap(new long[] {0, 1, 2}), LongBuffer.wrap(new long[] {1, 2}),
          FloatBuffer.wrap(new float[] {5, 7}), new long[] {2, 3}, OnnxJavaType.FLOAT, 2);
      try (var tensor = OnnxSparseTensor.createSparseTensor(env, csr)) {
        same(OnnxSparseTensor.SparseTensorType.CSRC, tensor.getSparseTensorType());
        same(LongBuffer.wrap(new long[] {0, 1, 2}), tensor.getIndicesBuffer());
        same(LongBuffer.wrap(new long[] {1, 2}), tensor.getInnerIndicesBuffer());
      }
    });
  }

  static void sessionTests() {
    tests.put("names and metadata", () -> {
      try (var session = open("linear")) {
        same(Set.of("x"), session.getInputNames());
        same(Set.of("y"), session.getOutputNames());
        same(1L, session.getNumInputs());
        var data = session.getMetadata();
        same(List.of("sardonyx tests", "linear", "the graph linear", "sardonyx.tests", "a linear layer", 7L),
             List.of(data.getProducerName(), data.getGraphName(), data.getGraphDescription(), data.getDomain(),
                     data.getDescription(), data.getVersion()));
        same(Map.of("author", "somebody", "empty", "", "unicode", "ż 大 김"), data.getCustomMetadata());
        same(Optional.empty(), data.getCustomMetadataValue("nothing"));
      }
    });
    tests.put("session of bytes", () -> {
      byte[] bytes = Files.readAllBytes(models.resolve("linear.onnx"));
      try (var session = env.createSession(bytes)) { linear(session); }
      var buffer = direct(bytes.length, b -> b);
      buffer.put(bytes).rewind();
      try (var session = env.createSession(buffer)) { linear(session); }
    });
    tests.put("external data", () -> { try (var session = open("linear_external")) { linear(session); } });
    tests.put("options", () -> {
      for (var level : OrtSession.SessionOptions.OptLevel.values())
        for (var mode : OrtSession.SessionOptions.ExecutionMode.values())
          try (var options = new OrtSession.SessionOptions()) {
            options.setOptimizationLevel(level);
            options.setExecutionMode(mode);
            options.setInterOpNumThreads(2);
            options.setIntraOpNumThreads(2);
            options.setMemoryPatternOptimization(false);
            options.setCPUArenaAllocator(false);
            options.setLoggerId("java");
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
            options.setSessionLogVerbosityLevel(0);
            options.setDeterministicCompute(true);
            options.setSymbolicDimensionValue("batch", 2);
            options.addConfigEntry("session.set_denormal_as_zero", "1");
            options.addCPU(true);
            same(Map.of("session.set_denormal_as_zero", "1"), options.getConfigEntries());
            try (var session = env.createSession(file("linear"), options)) {
              same(2L, ((TensorInfo) session.getInputInfo().get("x").getInfo()).getShape()[0]);
              linear(session);
            }
          }
    });
    tests.put("a saved optimized model", () -> {
      var saved = written.resolve("optimized.onnx").toString();
      try (var options = new OrtSession.SessionOptions()) {
        options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.EXTENDED_OPT);
        options.setOptimizedModelFilePath(saved);
        env.createSession(file("linear"), options).close();
      }
      try (var session = env.createSession(saved)) { linear(session); }
    });
    tests.put("profile", () -> {
      try (var options = new OrtSession.SessionOptions()) {
        options.enableProfiling(written.resolve("profile").toString());
        try (var session = env.createSession(file("linear"), options)) {
          linear(session);
          check(session.getProfilingStartTimeInNs() > 0, 0);
          check(Files.readString(Path.of(session.endProfiling())).contains("model_run"), "a profile without the run");
        }
      }
    });
    tests.put("external initializers", () -> {
      byte[] bytes = Files.readAllBytes(models.resolve("linear_external.onnx"));
      try (var options = new OrtSession.SessionOptions(); var weights = OnnxTensor.createTensor(env,
           new float[][] {{1, 0}, {0, 1}, {0, 0}}); var bias = OnnxTensor.createTensor(env, new float[] {1, 1})) {
        options.addExternalInitializers(Map.of("weights", weights, "bias", bias));
        try (var session = env.createSession(bytes, options); var x = OnnxTensor.createTensor(env, X);
             var result = session.run(Map.of("x", x))) {
          same(new float[][] {{2, 3}, {5, 6}}, result.get(0).getValue());
        }
      }
    });
    tests.put("an initializer of one's own", () -> {
      var memory = direct(8, ByteBuffer::asFloatBuffer);
      memory.put(new float[] {100, 200}).rewind();
      try (var options = new OrtSession.SessionOptions();
           var bias = OnnxTensor.createTensor(env, memory, new long[] {2})) {
        options.addInitializer("bias", bias);
        try (var session = env.createSession(file("overridable"), options); var x = OnnxTensor.createTensor(env,
             new float[][] {{1, 2}}); var result = session.run(Map.of("x", x))) {
          same(new float[][] {{101, 202}}, result.get(0).getValue());
        }
      }
    });
    tests.put("an overridden initializer", () -> {
      try (var session = open("overridable"); var x = OnnxTensor.createTensor(env, new float[][] {{1, 2}});
           var bias = OnnxTensor.createTensor(env, new float[] {7, 8})) {
        try (var result = session.run(Map.of("x", x))) { same(new float[][] {{1.5f, 1.5f}}, result.get(0).getValue()); }
      }
    });
    tests.put("some outputs", () -> {
      try (var session = open("two_of_two"); var a = OnnxTensor.createTensor(env, new float[] {1, 2});
           var b = OnnxTensor.createTensor(env, new float[] {3, 5});
           var result = session.run(Map.of("a", a, "b", b), Set.of("product"))) {
        same(1, result.size());
        same(new float[] {3, 10}, result.get("product").get().getValue());
      }
    });
    tests.put("outputs given by the caller", () -> {
      var memory = direct(16, ByteBuffer::asFloatBuffer);
      try (var session = open("linear"); var x = OnnxTensor.createTensor(env, X);
           var y = OnnxTensor.createTensor(env, memory, new long[] {2, 2});
           var result = session.run(Map.of("x", x), Map.of("y", y))) {
        same(49.5f, memory.get(2));
        check(!result.isResultOwner(0), "the result owns the caller's tensor");
      }
    });
    tests.put("run options", () -> {
      try (var session = open("linear"); var x = OnnxTensor.createTensor(env, X);
           var options = new OrtSession.RunOptions()) {
        options.setLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
        options.setLogVerbosityLevel(3);
        options.setRunTag("a tag");
        options.addRunConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
        same(List.of(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR, 3, "a tag"),
             List.of(options.getLogLevel(), options.getLogVerbosityLevel(), options.getRunTag()));
        session.run(Map.of("x", x), options).close();
        options.setTerminate(true);
        fails(null, () -> session.run(Map.of("x", x), options));
        options.setTerminate(false);
        session.run(Map.of("x", x), options).close();
      }
    });
    tests.put("a run that is stopped", () -> {
      try (var session = open("long_loop"); var times = OnnxTensor.createTensor(env, 2_000_000_000L);
           var x = OnnxTensor.createTensor(env, new float[] {1, 2}); var options = new OrtSession.RunOptions()) {
        var stopper = new Thread(() -> {
          try { Thread.sleep(200); options.setTerminate(true); } catch (Exception error) { throw new Error(error); }
        });
        stopper.start();
        fails(null, () -> session.run(Map.of("times", times, "x", x), options));
        stopper.join();
      }
    });
    tests.put("runs in several threads", () -> {
      try (var session = open("linear")) {
        var pool = Executors.newFixedThreadPool(8);
        var runs = new ArrayList<Future<?>>();
        for (int i = 0; i < 200; ++i) runs.add(pool.submit(() -> { linear(session); return null; }));
        for (var run : runs) run.get();
        pool.shutdown();
      }
    });
    tests.put("several sessions closed in any order", () -> {
      var sessions = new ArrayList<OrtSession>();
      for (int i = 0; i < 20; ++i) sessions.add(open("linear"));
      Collections.shuffle(sessions, new Random(1));
      for (var session : sessions) { linear(session); session.close(); }
    });
    tests.put("threads of the environment", () -> {
      try (var options = new OrtSession.SessionOptions()) {
        options.disablePerSessionThreads();
        try (var session = env.createSession(file("linear"), options)) { linear(session); }
      }
    });
    tests.put("devices", () -> {
      var device = env.getEpDevices().get(0);
      same("CPUExecutionProvider", device.getEpName());
      same(OrtHardwareDevice.OrtHardwareDeviceType.CPU, device.getDevice().getType());
      check(!device.getEpVendor().isEmpty() && device.getEpMetadata() != null && device.getEpOptions() != null, device);
      check(!device.getDevice().getVendor().isEmpty() && device.getDevice().getMetadata() != null, device);
      try (var options = new OrtSession.SessionOptions()) {
        options.addExecutionProvider(List.of(device), Map.of());
        try (var session = env.createSession(file("linear"), options)) { linear(session); }
      }
    });
    tests.put("environment", () -> {
      check(OrtEnvironment.getAvailableProviders().contains(OrtProvider.CPU), "");
      check(env.getVersion().matches("\\d+\\.\\d+\\.\\d+"), env.getVersion());
      env.setTelemetry(false);
      same(false, env.isTrainingEnabled());
      same(env, OrtEnvironment.getEnvironment());
    });
    tests.put("compiled model", () -> {
      var saved = written.resolve("compiled.onnx");
      try (var options = new OrtSession.SessionOptions();
           var compile = OrtModelCompilationOptions.createFromSessionOptions(env, options)) {
        compile.setInputModelPath(file("linear"));
        compile.setOutputModelPath(saved.toString());
        compile.compileModel();
      }
      try (var session = env.createSession(saved.toString())) { linear(session); }
    });
  }

  static void errorTests() {
    tests.put("error, no such file", () -> fails(OrtErrorCode.ORT_NO_SUCHFILE, () -> open("nothing")));
    tests.put("error, broken model", () -> fails(OrtErrorCode.ORT_INVALID_PROTOBUF, () -> open("broken")));
    tests.put("error, unknown operator", () -> fails(null, () -> open("custom_op")));
    tests.put("error, missing input", () -> {
      try (var session = open("two_of_two"); var a = OnnxTensor.createTensor(env, new float[] {1})) {
        fails(null, () -> session.run(Map.of("a", a)));
      }
    });
    tests.put("error, unknown input", () -> {
      try (var session = open("linear"); var a = OnnxTensor.createTensor(env, X)) {
        fails(null, () -> session.run(Map.of("nothing", a)));
        fails(null, () -> session.run(Map.of("x", a), Set.of("nothing")));
        fails(null, () -> session.run(Map.of()));
      }
    });
    tests.put("error, wrong type and shape", () -> {
      try (var session = open("linear"); var type = OnnxTensor.createTensor(env, new int[][] {{1, 2, 3}});
           var rank = OnnxTensor.createTensor(env, new float[] {1, 2, 3});
           var size = OnnxTensor.createTensor(env, new float[][] {{1, 2}})) {
        for (var wrong : List.of(type, rank, size))
          fails(OrtErrorCode.ORT_INVALID_ARGUMENT, () -> session.run(Map.of("x", wrong)));
      }
    });
    tests.put("error, unknown library of operators", () -> {
      try (var options = new OrtSession.SessionOptions()) {
        fails(null, () -> options.registerCustomOpLibrary("/nothing/libnothing.so"));
      }
    });
    tests.put("error, provider that is missing", () -> {
      try (var options = new OrtSession.SessionOptions()) {
        fails(null, () -> options.addCUDA());
        fails(null, () -> options.addCoreML());
        fails(null, () -> options.addDirectML(0));
        fails(null, () -> options.addOpenVINO("CPU"));
      }
    });
    tests.put("error, provider library that is missing", () ->
      fails(null, () -> env.registerExecutionProviderLibrary("name", "/nothing/libnothing.so")));
    tests.put("error, training", () -> {
      try {
        env.createTrainingSession("a", "b", "c", "d");
        throw new AssertionError("no error");
      } catch (OrtException | IllegalStateException expected) {
        check(!expected.getMessage().isEmpty(), "");
      }
    });
    tests.put("error, broken adapter", () -> fails(null, () -> OrtLoraAdapter.create(new byte[] {1, 2, 3})));
    tests.put("error, closed session", () -> {
      var session = open("linear");
      session.close();
      try { linear(session); throw new AssertionError("no error"); } catch (IllegalStateException expected) { }
    });
  }

  public static void main(String[] arguments) throws Exception {
    models = Path.of(arguments[0]);
    written = Path.of(arguments[1]);
    try (var threading = new OrtEnvironment.ThreadingOptions()) {
      threading.setGlobalInterOpNumThreads(1);
      threading.setGlobalIntraOpNumThreads(2);
      threading.setGlobalSpinControl(false);
      env = OrtEnvironment.getEnvironment(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL, "java", threading);
    }
    valueTests();
    sessionTests();
    errorTests();
    for (var test : tests.entrySet()) {
      try {
        test.getValue().run();
        System.out.println("ok " + test.getKey());
      } catch (Throwable error) {
        var where = error.getStackTrace();
        System.out.println("failed " + test.getKey() + ": " + String.valueOf(error).replace('\n', ' ') + " at "
                           + Arrays.stream(where).filter(f -> f.getClassName().equals("Program")).findFirst());
      }
    }
    env.close();
    System.out.println("end");
  }
}
