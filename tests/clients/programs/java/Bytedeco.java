// Prints what the classes of the C++ header of 1.28 give, which JavaCPP's preset has compiled and shows as classes of
// Java. Arguments: the folder of models, one to write to.
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.javacpp.*;
import org.bytedeco.onnxruntime.*;
import static org.bytedeco.onnxruntime.global.onnxruntime.*;

public class Bytedeco {
  interface Call { Object get() throws Exception; }

  static Path models, written;
  static Env env;
  static Allocator owned;

  static OrtAllocator allocator() {
    if (owned == null)
      owned = new Allocator(open("linear", new SessionOptions()),
                            MemoryInfo.CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault).asOrtMemoryInfo());
    return owned.asOrtAllocator();
  }

  static void say(String name, Object... values) {
    StringBuilder line = new StringBuilder("result " + name + ":");
    for (Object value : values) line.append(' ').append(words(value));
    System.out.println(line);
  }

  static String words(Object value) {
    if (value instanceof BytePointer) value = ((BytePointer) value).getString();
    if (value instanceof float[]) value = Arrays.toString((float[]) value);
    if (value instanceof long[]) value = Arrays.toString((long[]) value);
    return String.valueOf(value).replaceAll("\\s+", "_");
  }

  static void attempt(String name, Call call) {
    try {
      Object given = call.get();
      say(name, "gives", given instanceof Pointer && !(given instanceof BytePointer) ? "something" : given);
    } catch (Throwable error) {
      say(name, "raises", error.getClass().getSimpleName());
    }
  }

  static Session open(String name, SessionOptions options) {
    return new Session(env, new BytePointer(models.resolve(name + ".onnx").toString()), options);
  }

  static Value floats(float[] data, long... shape) {
    MemoryInfo cpu = MemoryInfo.CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    return Value.CreateTensorFloat(cpu.asOrtMemoryInfo(), new FloatPointer(data), data.length, new LongPointer(shape),
                                   shape.length);
  }

  static float[] read(ValueImpl value) {
    float[] data = new float[(int) value.GetTensorTypeAndShapeInfo().GetElementCount()];
    value.GetTensorMutableDataFloat().get(data);
    return data;
  }

  static ValueVector run(Session session, Value inputs, String input, String... outputs) {
    return session.Run(new RunOptions(), new PointerPointer<BytePointer>(new String[] {input}), inputs, 1,
                       new PointerPointer<BytePointer>(outputs), outputs.length);
  }

  static String described(TypeInfoImpl type) {
    int kind = type.GetONNXType();
    if (kind == ONNX_TYPE_SEQUENCE) return "sequence(" + described(type.GetSequenceTypeInfo().GetSequenceElementType()) + ")";
    if (kind == ONNX_TYPE_MAP)
      return "map(" + type.GetMapTypeInfo().GetMapKeyType() + "," + described(type.GetMapTypeInfo().GetMapValueType()) + ")";
    ConstTensorTypeAndShapeInfo info = type.GetTensorTypeAndShapeInfo();
    StringBuilder text = new StringBuilder().append(info.GetElementType()).append(info.HasShape());
    LongVector shape = info.GetShape();
    for (long axis = 0; axis < shape.size(); ++axis) text.append("_").append(shape.get(axis));
    return text.toString();
  }

  static void environment() {
    say("version", OrtGetApiBase().GetVersionString() != null, ORT_API_VERSION);
    env.DisableTelemetryEvents().EnableTelemetryEvents().UpdateEnvWithCustomLogLevel(ORT_LOGGING_LEVEL_ERROR);
    EpDeviceImpl device = env.GetEpDevices();
    say("device", device.EpName(), device.EpMetadata() != null, device.EpOptions() != null);
    say("devices", env.GetNumHardwareDevices() > 0);
    attempt("a library never registered", () -> env.UnregisterExecutionProviderLibrary("none"));
    MemoryInfo cpu = MemoryInfo.CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    say("memory", cpu.GetAllocatorName(), cpu.GetAllocatorType(), cpu.GetDeviceId(), cpu.GetDeviceType(),
        cpu.GetMemoryType(), cpu.GetDeviceMemoryType(), cpu.GetVendorId());
    attempt("memory of nobody", () -> new MemoryInfo("Nobody", OrtDeviceAllocator, 0, OrtMemTypeDefault));
    MemoryInfo other = new MemoryInfo("Mine", OrtMemoryInfoDeviceType_GPU, 0x10de, 1, OrtDeviceMemoryType_DEFAULT, 0,
                                      OrtDeviceAllocator);
    say("other memory", other.GetAllocatorName(), other.GetDeviceId(), other.GetDeviceType(), other.GetVendorId());
    MemoryAllocation block = new AllocatorWithDefaultOptions().GetAllocation(100);
    say("allocator", block.size(), !block.get().isNull());
    ArenaCfg arena = new ArenaCfg(0, -1, -1, -1);
    attempt("a registered allocator", () -> env.CreateAndRegisterAllocator(cpu.asOrtMemoryInfo(), arena.asOrtArenaCfg()));
    attempt("an allocator taken back", () -> env.UnregisterAllocator(cpu.asOrtMemoryInfo()));
    Status fine = new Status(), wrong = new Status("a reason", ORT_INVALID_ARGUMENT);
    say("status", fine.IsOK(), wrong.IsOK(), wrong.GetErrorMessage(), wrong.GetErrorCode());
    KeyValuePairs pairs = new KeyValuePairs();
    pairs.Add("a", "1");
    pairs.Add("b", "2");
    pairs.Remove("a");
    say("pairs", pairs.GetValue("b"), pairs.GetKeyValuePairs().size());
    ThreadingOptions threads = new ThreadingOptions();
    threads.SetGlobalIntraOpNumThreads(2).SetGlobalInterOpNumThreads(1).SetGlobalSpinControl(0).SetGlobalDenormalAsZero();
    say("threading options", threads != null);
  }

  static void numbers() {
    for (float number : new float[] {0, 1.5f, -3.25f, 65504f, 1e-7f, Float.POSITIVE_INFINITY})
      say("halves of " + number, new Float16_t(number).ToFloat(), new BFloat16_t(number).ToFloat());
  }

  static void types() {
    File[] files = models.toFile().listFiles((folder, name) -> name.endsWith(".onnx"));
    Arrays.sort(files);
    for (File file : files) {
      String name = file.getName().replace(".onnx", "");
      try {
        Session session = open(name, new SessionOptions());
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < session.GetInputCount(); ++i)
          text.append(session.GetInputNames().get(i).getString()).append(described(session.GetInputTypeInfo(i))).append(";");
        for (int i = 0; i < session.GetOutputCount(); ++i)
          text.append(session.GetOutputNames().get(i).getString()).append(described(session.GetOutputTypeInfo(i))).append(";");
        say("types of " + name, text, session.GetOverridableInitializerCount(), session.GetInputs().size(),
            session.GetOutputs().size(), session.GetOpset(""));
        say("memory of " + name, session.GetMemoryInfoForInputs().GetAllocatorName(),
            session.GetMemoryInfoForInputs().GetAllocatorType(), session.GetEpDeviceForInputs().EpName());
      } catch (RuntimeException error) {
        continue;  // what fails in the released library is no test of ours
      }
    }
    ModelMetadata data = open("linear", new SessionOptions()).GetModelMetadata();
    OrtAllocator a = allocator();
    say("metadata", data.GetProducerNameAllocated(a), data.GetGraphNameAllocated(a), data.GetDomainAllocated(a),
        data.GetDescriptionAllocated(a), data.GetGraphDescriptionAllocated(a), data.GetVersion(),
        data.LookupCustomMetadataMapAllocated("author", a));
  }

  static void runs() throws Exception {
    Session linear = open("linear", new SessionOptions());
    Value x = floats(new float[] {0, 1, 2, 3, 4, 5}, 2, 3);
    ValueVector results = run(linear, x, "x", "y");
    Value y = results.get(0);
    say("run", read(y), y.GetTensorSizeInBytes(), y.GetTensorMemoryInfo().GetAllocatorName());
    attempt("run with a wrong name", () -> run(linear, x, "z", "y"));
    attempt("run with a wrong output", () -> run(linear, x, "x", "q"));
    attempt("run with a wrong shape", () -> run(linear, floats(new float[4], 2, 2), "x", "y"));
    RunOptions options = new RunOptions();
    options.SetRunLogVerbosityLevel(1).SetRunLogSeverityLevel(3).SetRunTag("tag").AddConfigEntry("a.b", "c");
    say("run options", options.GetRunLogVerbosityLevel(), options.GetRunTag(), options.GetConfigEntry("a.b"));
    options.SetTerminate().UnsetTerminate();
    IoBinding binding = new IoBinding(linear);
    Value target = floats(new float[4], 2, 2);
    binding.BindInput("x", x);
    binding.BindOutput("y", target);
    binding.SynchronizeInputs();
    linear.Run(options, binding);
    binding.SynchronizeOutputs();
    say("bound", read(target), binding.GetOutputNames().get(0), binding.GetOutputValues().size());
    binding.ClearBoundOutputs();
    binding.BindOutput("y", MemoryInfo.CreateCpu(OrtArenaAllocator, OrtMemTypeDefault).asOrtMemoryInfo());
    linear.Run(options, binding);
    say("bound to memory", read(binding.GetOutputValues().get(0)));
    binding.ClearBoundInputs();
    attempt("inputs taken away", () -> { linear.Run(options, binding); return "a run"; });
    ValueVector two = new ValueVector(floats(new float[] {1}, 1), floats(new float[] {2}, 1));
    Value sequence = Value.CreateSequence(two);
    say("sequence", sequence.GetCount(), read(sequence.GetValue(1, allocator())));
    Value maps = run(open("zip_map_int64", new SessionOptions()), floats(new float[] {1, 2, 3}, 1, 3), "x", "z").get(0);
    Value map = maps.GetValue(0, allocator());
    say("map", maps.GetCount(), map.GetCount(), read(map.GetValue(1, allocator())));
  }

  static void options() throws Exception {
    SessionOptions options = new SessionOptions();
    options.SetIntraOpNumThreads(2).SetInterOpNumThreads(1).SetGraphOptimizationLevel(ORT_ENABLE_EXTENDED)
        .SetDeterministicCompute(true).EnableCpuMemArena().DisableCpuMemArena().EnableMemPattern().DisableMemPattern()
        .SetExecutionMode(ORT_PARALLEL).SetLogId("mine").SetLogSeverityLevel(3).AddConfigEntry("session.disable_prepacking", "1")
        .AddFreeDimensionOverrideByName("batch", 2).AddFreeDimensionOverride("DATA_BATCH", 2);
    say("options", options.HasConfigEntry("session.disable_prepacking"), options.HasConfigEntry("no"),
        options.GetConfigEntry("session.disable_prepacking"), options.GetConfigEntryOrDefault("no", "none"),
        options.GetMemPatternEnabled(), options.GetExecutionMode());
    say("overridden", described(open("linear", options.Clone()).GetInputTypeInfo(0)));
    SessionOptions given = new SessionOptions();
    given.AddInitializer("bias", floats(new float[] {7, 8}, 2).asOrtValue());
    say("a weight given", read(run(open("overridable", given), floats(new float[] {1, 1}, 1, 2), "x", "y").get(0)));
    for (String name : new String[] {"CUDA", "XNNPACK", "Nobody"})
      attempt("provider " + name, () -> new SessionOptions().AppendExecutionProvider(name, new StringStringMap()));
    for (int policy = 0; policy < 7; ++policy) {
      int chosen = policy;
      attempt("policy " + policy, () -> { SessionOptions o = new SessionOptions(); o.SetEpSelectionPolicy(chosen);
                                          return open("linear", o).GetInputCount(); });
    }
    SessionOptions stopped = new SessionOptions();
    stopped.SetLoadCancellationFlag(true);
    attempt("a load that is stopped", () -> open("linear", stopped));
    SessionOptions saving = new SessionOptions();
    saving.SetOptimizedModelFilePath(new BytePointer(written.resolve("saved.onnx").toString()));
    open("linear", saving);
    say("saved", Files.exists(written.resolve("saved.onnx")));
    SessionOptions profiled = new SessionOptions();
    profiled.EnableProfiling(new BytePointer(written.resolve("profile").toString()));
    Session session = open("linear", profiled);
    run(session, floats(new float[3], 1, 3), "x", "y");
    say("profile", session.GetProfilingStartTimeNs() > 0,
        session.EndProfilingAllocated(allocator()).getString().contains("profile"));
    attempt("shared weights", () -> new Session(env, new BytePointer(models.resolve("linear.onnx").toString()), new SessionOptions(),
        new PrepackedWeightsContainer().asOrtPrepackedWeightsContainer()).GetInputCount());
    ModelCompilationOptions compiling = new ModelCompilationOptions(env, new SessionOptions());
    compiling.SetInputModelPath(new BytePointer(models.resolve("linear.onnx").toString()))
        .SetOutputModelPath(new BytePointer(written.resolve("compiled.onnx").toString())).SetEpContextEmbedMode(true)
        .SetGraphOptimizationLevel(ORT_ENABLE_BASIC).SetFlags(0);
    Status done = CompileModel(env, compiling);
    say("compiled", done.IsOK(), Files.exists(written.resolve("compiled.onnx")));
  }

  static void async() throws Exception {
    SessionOptions options = new SessionOptions();
    options.SetIntraOpNumThreads(2);
    Session linear = open("linear", options);
    CountDownLatch latch = new CountDownLatch(1);
    RunAsyncCallbackFn callback = new RunAsyncCallbackFn() {
      @Override public void call(Pointer user, PointerPointer outputs, long count, OrtStatus status) {
        say("called back", count, status == null || status.isNull());
        latch.countDown();
      }
    };
    Value output = floats(new float[2], 1, 2);
    linear.RunAsync(new RunOptions(), new PointerPointer<BytePointer>(new String[] {"x"}), floats(new float[] {1, 2, 3}, 1, 3), 1,
                    new PointerPointer<BytePointer>(new String[] {"y"}), output, 1, callback, null);
    latch.await();
    say("async", read(output));
  }

  public static void main(String[] arguments) throws Exception {
    models = Path.of(arguments[0]);
    written = Path.of(arguments[1]);
    env = new Env(ORT_LOGGING_LEVEL_FATAL, "program");
    environment();
    numbers();
    types();
    runs();
    options();
    async();
    say("it ends", true);
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
