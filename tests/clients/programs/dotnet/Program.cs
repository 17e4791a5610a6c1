// tests/clients/programs/dotnet/Program.cs - asks ONNX Runtime's C# interface for what it has, and prints the answers.
// usage: mono Program.exe MODELS FOLDER_TO_WRITE_IN
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading.Tasks;
using Microsoft.ML.OnnxRuntime;
using Microsoft.ML.OnnxRuntime.CompileApi;
using Microsoft.ML.OnnxRuntime.Tensors;

static class Program {
  static string models, written;
  static readonly float[] X = {1, 2, 3, 4, 5, 6};
  static readonly long[] Shape = {2, 3};

  static string Words<T>(IEnumerable<T> values) {
    return string.Join(" ", values.Select(v => v == null ? "null" : v.ToString().Length == 0 ? "empty" : v.ToString()));
  }
  static void Result(string name, object words) { Console.WriteLine("result " + name + ": " + words); }
  static void Try(string name, Func<object> action) {
    try {
      Result(name, action());
    } catch (OnnxRuntimeException error) {  // the words of errors are each library's own: only the code is compared
      Result(name, error.Message.Split(']')[0] + "]");
    } catch (Exception error) {
      Result(name, error.GetType().Name);
    }
  }
  static string FileOf(string name) { return Path.Combine(models, name + ".onnx"); }
  static string Floats(OrtValue value) {
    return Words(value.GetTensorTypeAndShape().Shape) + " of " + Words(value.GetTensorDataAsSpan<float>().ToArray());
  }
  static string Linear(InferenceSession session) {
    using (var options = new RunOptions())
    using (var x = OrtValue.CreateTensorValueFromMemory(X, Shape))
    using (var found = session.Run(options, new[] {"x"}, new[] {x}, new[] {"y"})) return Floats(found[0]);
  }
  static string Linear(Action<SessionOptions> change) {
    using (var options = new SessionOptions()) {
      change(options);
      using (var session = new InferenceSession(FileOf("linear"), options)) return Linear(session);
    }
  }

  static object Identity<T>(string type, params T[] values) {
    using (var session = new InferenceSession(FileOf("identity_" + type))) {
      var input = NamedOnnxValue.CreateFromTensor("x", new DenseTensor<T>(values, new[] {values.Length / 2, 2}));
      using (var found = session.Run(new[] {input})) {
        var meta = session.InputMetadata["x"];
        return found.First().Name + " " + found.First().ElementType + " " + meta.ElementDataType + " " +
               meta.ElementType + " " + Words(meta.Dimensions) + " " + Words(meta.SymbolicDimensions) + " " +
               Words(found.First().AsTensor<T>().Dimensions.ToArray()) + " " +
               Words(found.First().AsTensor<T>().ToArray());
      }
    }
  }
  static void Types() {
    Try("float32", () => Identity("float32", 1f, -2.5f, 3e30f, 0f));
    Try("float64", () => Identity("float64", 1d, -2.5d, 3e300d, 0d));
    Try("int8", () => Identity<sbyte>("int8", -128, 127, 0, 1));
    Try("uint8", () => Identity<byte>("uint8", 255, 127, 0, 1));
    Try("int16", () => Identity<short>("int16", -32768, 32767, 0, 1));
    Try("uint16", () => Identity<ushort>("uint16", 65535, 7, 0, 1));
    Try("int32", () => Identity("int32", int.MinValue, int.MaxValue, 0, 1));
    Try("uint32", () => Identity("uint32", uint.MaxValue, 5u, 0u, 1u));
    Try("int64", () => Identity("int64", long.MinValue, long.MaxValue, 0L, 1L));
    Try("uint64", () => Identity("uint64", ulong.MaxValue, 5UL, 0UL, 1UL));
    Try("bool", () => Identity("bool", true, false, false, true));
    Try("string", () => Identity("string", "", "words", "żółw 大 김 😀", "a\nb".Replace('\n', '_')));
    Try("float16", () => Identity("float16", (Float16)1.5f, (Float16)(-2f), Float16.NaN, Float16.MaxValue));
    Try("bfloat16", () => Identity("bfloat16", (BFloat16)1.5f, (BFloat16)(-2f), BFloat16.NaN, BFloat16.MaxValue));
    Try("no rows", () => Identity("float32", new float[0]));
  }

  static void Sessions() {
    Try("from a file", () => { using (var s = new InferenceSession(FileOf("linear"))) return Linear(s); });
    Try("from bytes", () => {
      using (var s = new InferenceSession(File.ReadAllBytes(FileOf("linear")))) return Linear(s);
    });
    Try("from bytes with options", () => {
      using (var o = new SessionOptions())
      using (var s = new InferenceSession(File.ReadAllBytes(FileOf("linear")), o)) return Linear(s);
    });
    Try("external weights", () => {
      using (var s = new InferenceSession(FileOf("linear_external"))) return Linear(s);
    });
    Try("shared packed weights", () => {
      using (var packed = new PrePackedWeightsContainer())
      using (var o = new SessionOptions())
      using (var one = new InferenceSession(FileOf("linear"), o, packed))
      using (var two = new InferenceSession(File.ReadAllBytes(FileOf("linear")), o, packed))
        return Linear(one) + " " + Linear(two);
    });
    Try("metadata", () => {
      using (var s = new InferenceSession(FileOf("linear"))) {
        var m = s.ModelMetadata;
        return m.ProducerName + "," + m.GraphName + "," + m.Domain + "," + m.Description + "," + m.GraphDescription +
               "," + m.Version + "," + Words(m.CustomMetadataMap.OrderBy(p => p.Key, StringComparer.Ordinal));
      }
    });
    Try("names", () => {
      using (var s = new InferenceSession(FileOf("overridable")))
        return Words(s.InputNames) + " | " + Words(s.OutputNames) + " | " + Words(s.InputMetadata.Keys) + " | " +
               Words(s.OverridableInitializerMetadata.Keys) + " | " +
               Words(s.OverridableInitializerMetadata["bias"].Dimensions);
    });
    Try("an initializer replaced", () => {
      using (var s = new InferenceSession(FileOf("overridable")))
      using (var x = OrtValue.CreateTensorValueFromMemory(new float[] {1, 2}, new long[] {1, 2}))
      using (var b = OrtValue.CreateTensorValueFromMemory(new float[] {10, 20}, new long[] {2}))
      using (var o = new RunOptions())
      using (var given = s.Run(o, new Dictionary<string, OrtValue> {{"x", x}, {"bias", b}}, s.OutputNames))
      using (var left = s.Run(o, new Dictionary<string, OrtValue> {{"x", x}}, s.OutputNames))
        return Floats(given[0]) + " " + Floats(left[0]);
    });
    Try("memory and devices", () => {
      using (var s = new InferenceSession(FileOf("linear")))
      using (var i = s.GetMemoryInfosForInputs())
      using (var o = s.GetMemoryInfosForOutputs())
        return i.Count + " " + i[0].Name + " " + i[0].Id + " " + i[0].GetMemoryType() + " " + i[0].GetAllocatorType() +
               " " + i[0].GetDeviceMemoryType() + " " + i[0].GetVendorId() + " " + i[0].Equals(o[0]) + " " +
               Words(s.GetEpDeviceForInputs().Select(d => d == null ? "none" : d.EpName));
    });
    Try("profiling", () => {
      using (var o = new SessionOptions {ProfileOutputPathPrefix = Path.Combine(written, "p"), EnableProfiling = true})
      using (var s = new InferenceSession(FileOf("linear"), o)) {
        Linear(s);
        var file = s.EndProfiling();
        return (s.ProfilingStartTimeNs > 0) + " " + Path.GetFileName(file).StartsWith("p_") + " " +
               File.ReadAllText(file).Contains("model_run");
      }
    });
    foreach (var name in new[] {"broken", "custom_op", "absent"})
      Try("opening " + name, () => { using (new InferenceSession(FileOf(name))) return "opened"; });
    Try("opening no bytes", () => { using (new InferenceSession(new byte[0])) return "opened"; });
  }

  static void Options() {
    Try("defaults of options", () => {
      using (var o = new SessionOptions())
        return Words(new object[] {o.EnableMemoryPattern, o.ProfileOutputPathPrefix, o.EnableProfiling, o.LogId,
                                   o.OptimizedModelFilePath, o.EnableCpuMemArena, o.LogSeverityLevel,
                                   o.LogVerbosityLevel, o.IntraOpNumThreads, o.InterOpNumThreads,
                                   o.GraphOptimizationLevel, o.ExecutionMode});
    });
    foreach (GraphOptimizationLevel level in Enum.GetValues(typeof(GraphOptimizationLevel)))
      Try("optimization " + level, () => Linear(o => o.GraphOptimizationLevel = level));
    Try("one after another", () => Linear(o => o.ExecutionMode = ExecutionMode.ORT_PARALLEL));
    Try("no arena, no pattern", () => Linear(o => { o.EnableCpuMemArena = false; o.EnableMemoryPattern = false; }));
    Try("threads", () => Linear(o => { o.IntraOpNumThreads = 3; o.InterOpNumThreads = 2; }));
    Try("threads of the environment", () => Linear(o => o.DisablePerSessionThreads()));
    Try("logging", () => Linear(o => {
      o.LogId = "words";
      o.LogSeverityLevel = OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL;
      o.LogVerbosityLevel = 2;
    }));
    Try("the CPU named", () => Linear(o => o.AppendExecutionProvider_CPU(0)));
    Try("an entry", () => Linear(o => o.AddSessionConfigEntry("session.intra_op.allow_spinning", "0")));
    Try("an entry without a name", () => Linear(o => o.AddSessionConfigEntry("", "0")));
    Try("dimensions by name", () => {
      using (var o = new SessionOptions()) {
        o.AddFreeDimensionOverrideByName("batch", 2);
        using (var s = new InferenceSession(FileOf("linear"), o)) return Words(s.InputMetadata["x"].Dimensions);
      }
    });
    Try("dimensions by meaning", () => Linear(o => o.AddFreeDimensionOverride("DATA_BATCH", 2)));
    Try("another initializer", () => {
      using (var b = OrtValue.CreateTensorValueFromMemory(new float[] {100, 200}, new long[] {2}))
        return Linear(o => o.AddInitializer("bias", b));
    });
    Try("the model written", () => {
      var file = Path.Combine(written, "optimized.onnx");
      Linear(o => o.OptimizedModelFilePath = file);
      using (var s = new InferenceSession(file)) return Linear(s);
    });
    Try("a cancelled load", () => Linear(o => o.SetLoadCancellationFlag(true)));
    foreach (var policy in new[] {ExecutionProviderDevicePolicy.DEFAULT, ExecutionProviderDevicePolicy.PREFER_CPU,
                                  ExecutionProviderDevicePolicy.MAX_EFFICIENCY})
      Try("policy " + policy, () => Linear(o => o.SetEpSelectionPolicy(policy)));
    Try("a policy of the program", () => {
      var told = "";
      var numbers = Linear(o => o.SetEpSelectionPolicyDelegate((devices, model, run, most) => {
        told = devices.Count + " " + model.Entries.Count(e => e.Key.Length > 0) + " " + most;
        return devices.Take(1).ToList();
      }));
      return numbers + " told " + told;
    });
    Try("devices named", () => Linear(o => o.AppendExecutionProvider(
        OrtEnv.Instance(), OrtEnv.Instance().GetEpDevices().Take(1).ToList(), new Dictionary<string, string>())));
    Try("XNNPACK", () => Linear(o => o.AppendExecutionProvider("XNNPACK")));
    Try("nobody's provider", () => Linear(o => o.AppendExecutionProvider("Nobody")));
    Try("custom operators that are not there", () => Linear(o => o.RegisterCustomOpLibrary("/nowhere/library.so")));
  }

  static object Fails(string file, string[] names, string[] outputs, Func<OrtValue> make) {
    using (var s = new InferenceSession(FileOf(file)))
    using (var value = make())
    using (var o = new RunOptions())
    using (var found = s.Run(o, names, names.Select(_ => value).ToList(), outputs)) return found.Count;
  }
  static void Runs() {
    Func<OrtValue> x = () => OrtValue.CreateTensorValueFromMemory(X, Shape);
    Try("a wrong input", () => Fails("linear", new[] {"z"}, new[] {"y"}, x));
    Try("a wrong output", () => Fails("linear", new[] {"x"}, new[] {"z"}, x));
    Try("an input too many", () => Fails("linear", new[] {"x", "x2"}, new[] {"y"}, x));
    Try("a wrong type", () => Fails("linear", new[] {"x"}, new[] {"y"},
                                    () => OrtValue.CreateTensorValueFromMemory(new long[6], Shape)));
    Try("a wrong shape", () => Fails("linear", new[] {"x"}, new[] {"y"},
                                     () => OrtValue.CreateTensorValueFromMemory(X, new long[] {3, 2})));
    Try("a wrong rank", () => Fails("linear", new[] {"x"}, new[] {"y"},
                                    () => OrtValue.CreateTensorValueFromMemory(X, new long[] {6})));
    Try("outputs given", () => {
      var y = new float[4];
      using (var s = new InferenceSession(FileOf("linear")))
      using (var a = OrtValue.CreateTensorValueFromMemory(X, Shape))
      using (var b = OrtValue.CreateTensorValueFromMemory(y, new long[] {2, 2}))
      using (var o = new RunOptions()) s.Run(o, new[] {"x"}, new[] {a}, new[] {"y"}, new[] {b});
      return Words(y);
    });
    Try("fixed buffers", () => {
      var y = new DenseTensor<float>(new[] {2, 2});
      using (var s = new InferenceSession(FileOf("linear")))
      using (var a = FixedBufferOnnxValue.CreateFromTensor(new DenseTensor<float>(X, new[] {2, 3})))
      using (var b = FixedBufferOnnxValue.CreateFromTensor(y)) s.Run(new[] {"x"}, new[] {a}, new[] {"y"}, new[] {b});
      return Words(y.ToArray());
    });
    Try("two of two", () => {
      using (var s = new InferenceSession(FileOf("two_of_two")))
      using (var o = new RunOptions {LogId = "words", LogVerbosityLevel = 1})
      using (var a = OrtValue.CreateTensorValueFromMemory(new float[] {1, 2}, new long[] {2}))
      using (var b = OrtValue.CreateTensorValueFromMemory(new float[] {3, 4}, new long[] {2}))
      using (var both = s.Run(o, new[] {"a", "b"}, new[] {a, b}, new[] {"product", "sum"}))
      using (var one = s.Run(o, new[] {"b", "a"}, new[] {b, a}, new[] {"sum"}))
        return Floats(both[0]) + " " + Floats(both[1]) + " " + Floats(one[0]) + " " + o.LogId;
    });
    Try("terminated", () => {
      using (var s = new InferenceSession(FileOf("linear")))
      using (var a = x())
      using (var o = new RunOptions {Terminate = true})
      using (var found = s.Run(o, new[] {"x"}, new[] {a}, new[] {"y"})) return found.Count;
    });
    Try("terminated by another thread", () => {
      using (var s = new InferenceSession(FileOf("long_loop")))
      using (var n = OrtValue.CreateTensorValueFromMemory(new[] {long.MaxValue}, new long[0]))
      using (var a = OrtValue.CreateTensorValueFromMemory(X, new long[] {6}))
      using (var o = new RunOptions()) {
        var stop = Task.Delay(300).ContinueWith(_ => o.Terminate = true);
        using (var found = s.Run(o, new[] {"times", "x"}, new[] {n, a}, new[] {"y"})) return found.Count;
      }
    });
    Try("many threads", () => {
      using (var s = new InferenceSession(FileOf("linear"))) {
        var found = new string[64];
        Parallel.For(0, 64, k => found[k] = Linear(s));
        return Words(found.Distinct());
      }
    });
    Try("a run's entry", () => {
      using (var s = new InferenceSession(FileOf("linear")))
      using (var a = x())
      using (var o = new RunOptions()) {
        o.AddRunConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
        using (var found = s.Run(o, new[] {"x"}, new[] {a}, new[] {"y"})) return Floats(found[0]);
      }
    });
  }

  static void Bindings() {
    using (var s = new InferenceSession(FileOf("linear")))
    using (var o = new RunOptions())
    using (var a = OrtValue.CreateTensorValueFromMemory(X, Shape)) {
      Try("bound to a device", () => {
        using (var b = s.CreateIoBinding()) {
          b.BindInput("x", a);
          b.BindOutputToDevice("y", OrtMemoryInfo.DefaultInstance);
          b.SynchronizeBoundInputs();
          using (var found = s.RunWithBoundResults(o, b)) {
            b.SynchronizeBoundOutputs();
            return Words(b.GetOutputNames()) + " " + Floats(found[0]);
          }
        }
      });
      Try("bound to memory", () => {
        using (var memory = OrtAllocator.DefaultInstance.Allocate(16))
        using (var b = s.CreateIoBinding()) {
          b.BindInput("x", FixedBufferOnnxValue.CreateFromTensor(new DenseTensor<float>(X, new[] {2, 3})));
          b.BindOutput("y", TensorElementType.Float, new long[] {2, 2}, memory);
          s.RunWithBinding(o, b);
          using (var values = b.GetOutputValues()) return memory.Size + " " + Floats(values[0]);
        }
      });
      Try("bound and named", () => {
        using (var b = s.CreateIoBinding())
        using (var y = OrtValue.CreateAllocatedTensorValue(OrtAllocator.DefaultInstance, TensorElementType.Float,
                                                           new long[] {2, 2})) {
          b.BindInput("x", a);
          b.BindOutput("y", y);
          using (var found = s.RunWithBindingAndNames(o, b))
            return found.First().Name + " " + Words(found.First().AsTensor<float>().ToArray());
        }
      });
      Try("bound, then not", () => {
        using (var b = s.CreateIoBinding()) {
          b.BindInput("x", a);
          b.BindOutputToDevice("y", OrtMemoryInfo.DefaultInstance);
          b.ClearBoundInputs();
          b.ClearBoundOutputs();
          s.RunWithBinding(o, b);
          return "ran";
        }
      });
      Try("binding what is not there", () => {
        using (var b = s.CreateIoBinding()) { b.BindInput("nothing", a); return "bound"; }
      });
    }
  }

  static void Values() {
    var cpu = OrtAllocator.DefaultInstance;
    Try("strings", () => {
      using (var v = OrtValue.CreateTensorWithEmptyStrings(cpu, new long[] {2, 2})) {
        v.StringTensorSetElementAt("żółw".AsSpan(), 1);
        v.StringTensorSetElementAt(System.Text.Encoding.UTF8.GetBytes("bytes").AsSpan(), 3);
        return Words(v.GetStringTensorAsArray()) + " " + v.GetStringElement(3) + " " +
               v.GetStringElementAsSpan(1).Length + " " + Words(v.GetTensorTypeAndShape().Shape);
      }
    });
    Try("a string out of range", () => {
      using (var v = OrtValue.CreateTensorWithEmptyStrings(cpu, new long[] {2})) return v.GetStringElement(5);
    });
    Try("upper case", () => {
      using (var s = new InferenceSession(FileOf("upper")))
      using (var v = OrtValue.CreateFromStringTensor(new DenseTensor<string>(new[] {"a", "bc"}, new[] {2})))
      using (var o = new RunOptions())
      using (var found = s.Run(o, new[] {"x"}, new[] {v}, new[] {"y"})) return Words(found[0].GetStringTensorAsArray());
    });
    Try("a scalar", () => {
      using (var s = new InferenceSession(FileOf("scalar")))
      using (var v = OrtValue.CreateTensorValueFromMemory(X, new long[] {6}))
      using (var o = new RunOptions())
      using (var found = s.Run(o, new[] {"x"}, new[] {v}, new[] {"y"}))
        return found[0].GetTensorTypeAndShape().DimensionsCount + " " + Floats(found[0]);
    });
    Try("a sequence out", () => {
      using (var s = new InferenceSession(FileOf("to_sequence"))) {
        var kind = s.OutputMetadata["s"];
        using (var found = s.Run(new[] {"a", "b"}.Select(n => NamedOnnxValue.CreateFromTensor(
                   n, new DenseTensor<float>(new float[] {1, n[0]}, new[] {2}))).ToList()))
          return kind.OnnxValueType + " " + kind.AsSequenceMetadata().ElementMeta.ElementDataType + " " +
                 Words(found.First().AsEnumerable<DisposableNamedOnnxValue>()
                           .SelectMany(v => v.AsTensor<float>().ToArray()));
      }
    });
    Try("a sequence in", () => {
      using (var s = new InferenceSession(FileOf("sequence_at")))
      using (var i = OrtValue.CreateTensorValueFromMemory(new long[] {1}, new long[0]))
      using (var o = new RunOptions())
      using (var values = OrtValue.CreateSequence(new List<OrtValue> {
          OrtValue.CreateTensorValueFromMemory(new float[] {1}, new long[] {1}),
          OrtValue.CreateTensorValueFromMemory(new float[] {2, 3}, new long[] {2})})) {
        var seen = "";
        values.ProcessSequence((v, k) => seen += k + "=" + Words(v.GetTensorDataAsSpan<float>().ToArray()) + ",", cpu);
        using (var found = s.Run(o, new[] {"s", "i"}, new[] {values, i}, new[] {"y"}))
          return seen + values.GetValueCount() + " " + values.GetTypeInfo().OnnxType + " " + Floats(found[0]);
      }
    });
    foreach (var kind in new[] {"int64", "string"})
      Try("maps of " + kind, () => {
        using (var s = new InferenceSession(FileOf("zip_map_" + kind))) {
          var meta = s.OutputMetadata["z"].AsSequenceMetadata().ElementMeta.AsMapMetadata();
          var input = NamedOnnxValue.CreateFromTensor("x", new DenseTensor<float>(X, new[] {2, 3}));
          using (var found = s.Run(new[] {input})) {
            var maps = found.First().AsEnumerable<DisposableNamedOnnxValue>();
            return meta.KeyDataType + " " + meta.ValueMetadata.ElementDataType + " " +
                   (kind == "int64" ? Words(maps.SelectMany(m => m.AsDictionary<long, float>().OrderBy(p => p.Key)))
                                    : Words(maps.SelectMany(m => m.AsDictionary<string, float>().OrderBy(p => p.Key))));
          }
        }
      });
    Try("maps made", () => {
      using (var one = OrtValue.CreateMap(new long[] {1, 2}, new float[] {3, 4}))
      using (var two = OrtValue.CreateMapWithStringKeys(new[] {"a", "b"}, new long[] {5, 6}))
      using (var three = OrtValue.CreateMapWithStringValues(new long[] {7}, new[] {"c"})) {
        var seen = "";
        one.ProcessMap((k, v) => seen += Words(k.GetTensorDataAsSpan<long>().ToArray()) + Floats(v), cpu);
        two.ProcessMap((k, v) => seen += Words(k.GetStringTensorAsArray()) +
                                         Words(v.GetTensorDataAsSpan<long>().ToArray()), cpu);
        three.ProcessMap((k, v) => seen += Words(v.GetStringTensorAsArray()), cpu);
        return seen + " " + one.OnnxType + " " + one.GetTypeInfo().MapTypeInfo.KeyType;
      }
    });
    Try("raw memory", () => {
      using (var v = OrtValue.CreateAllocatedTensorValue(cpu, TensorElementType.Int32, new long[] {3})) {
        v.GetTensorMutableDataAsSpan<int>().Fill(0x01020304);
        var info = v.GetTensorMemoryInfo();
        return Words(v.GetTensorMutableRawData().ToArray()) + " " + v.GetTensorSizeInBytes() + " " + info.Name + " " +
               v.GetTensorTypeAndShape().ElementCount + " " + v.IsTensor + v.IsSparseTensor;
      }
    });
    Try("memory too small", () => {
      using (OrtValue.CreateTensorValueFromMemory(new float[3], new long[] {2, 3})) return "made";
    });
    Try("allocators", () => {
      using (var s = new InferenceSession(FileOf("linear")))
      using (var a = new OrtAllocator(s, OrtMemoryInfo.DefaultInstance))
      using (var m = a.Allocate(1000)) return m.Size + " " + m.Info.Name + " " + a.Info.Equals(m.Info);
    });
    Try("memory of a device that is not there", () => {
      using (var i = new OrtMemoryInfo("Cuda", OrtAllocatorType.DeviceAllocator, 0, OrtMemType.Default))
      using (var s = new InferenceSession(FileOf("linear")))
      using (new OrtAllocator(s, i)) return "made";
    });
  }

  static string Compiled(Action<OrtModelCompilationOptions> set, Func<InferenceSession> open) {
    using (var o = new SessionOptions())
    using (var c = new OrtModelCompilationOptions(o)) {
      set(c);
      c.CompileModel();
      using (var s = open()) return Linear(s);
    }
  }
  static void Compiling() {
    var file = Path.Combine(written, "compiled.onnx");
    Func<InferenceSession> open = () => new InferenceSession(file);
    Try("compiled to a file", () => Compiled(c => {
      File.Delete(file);
      c.SetInputModelPath(FileOf("linear"));
      c.SetOutputModelPath(file);
      c.SetEpContextEmbedMode(true);
      c.SetGraphOptimizationLevel(GraphOptimizationLevel.ORT_ENABLE_BASIC);
    }, open));
    Try("compiled from bytes", () => Compiled(c => {
      File.Delete(file);
      c.SetInputModelFromBuffer(File.ReadAllBytes(FileOf("linear")));
      c.SetOutputModelPath(file);
    }, open));
    Try("compiled with weights beside", () => Compiled(c => {
      File.Delete(file);
      c.SetInputModelPath(FileOf("linear"));
      c.SetOutputModelPath(file);
      c.SetOutputModelExternalInitializersFile("compiled.bin", 0);
    }, open));
    Try("compiled piece by piece", () => {
      var bytes = new MemoryStream();
      return Compiled(c => {
        c.SetInputModelPath(FileOf("linear"));
        c.SetOutputModelWriteDelegate(part => bytes.Write(part.ToArray(), 0, part.Length));
      }, () => new InferenceSession(bytes.ToArray())) + " " + (bytes.Length > 100);
    });
    Try("weights where the program wants them", () => {
      var names = new List<string>();
      Compiled(c => {
        c.SetInputModelPath(FileOf("linear"));
        c.SetOutputModelPath(Path.Combine(written, "asked.onnx"));
        c.SetOutputModelGetInitializerLocationDelegate((name, value, original) => {
          names.Add(name + "_" + value.GetTensorTypeAndShape().ElementCount);
          return null;
        });
      }, () => new InferenceSession(FileOf("linear")));
      return Words(names.OrderBy(n => n, StringComparer.Ordinal));
    });
    Try("compiled over a file that is there", () => {
      File.WriteAllText(file, "words");
      return Compiled(c => {
        c.SetInputModelPath(FileOf("linear"));
        c.SetOutputModelPath(file);
        c.SetFlags(OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS);
      }, open);
    });
    Try("compiled without a compiler", () => Compiled(c => {
      c.SetInputModelPath(FileOf("linear"));
      c.SetOutputModelPath(Path.Combine(written, "none.onnx"));
      c.SetFlags(OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED);
    }, open));
  }

  static void Environment() {
    var env = OrtEnv.Instance();
    Try("the environment", () => OrtEnv.IsCreated + " " + env.EnvLogLevel + " " +
                                 env.GetAvailableProviders().Contains("CPUExecutionProvider"));
    Try("devices", () => Words(env.GetEpDevices().Where(d => d.EpName == "CPUExecutionProvider").Select(
        d => d.EpName + " " + d.HardwareDevice.Type + " " + d.EpOptions.Entries.Count)));
    Try("hardware", () => env.GetHardwareDevices().Any(d => d.Type == OrtHardwareDeviceType.CPU) + " " +
                          (env.GetNumHardwareDevices() == env.GetHardwareDevices().Count));
    Try("an allocator of the environment", () => {
      using (var info = new OrtMemoryInfo(OrtMemoryInfo.allocatorCPU, OrtAllocatorType.ArenaAllocator, 0,
                                          OrtMemType.Default))
      using (var arena = new OrtArenaCfg(0, -1, -1, -1)) {
        env.CreateAndRegisterAllocator(info, arena);
        var found = Linear(o => o.AddSessionConfigEntry("session.use_env_allocators", "1"));
        env.UnregisterAllocator(info);
        return found;
      }
    });
    Try("unregistering what is not there", () => {
      using (var info = new OrtMemoryInfo(OrtMemoryInfo.allocatorCPU, OrtAllocatorType.ArenaAllocator, 0,
                                          OrtMemType.Default)) {
        env.UnregisterAllocator(info);
        return "done";
      }
    });
    Try("a library that is not there", () => {
      env.RegisterExecutionProviderLibrary("nothing", "/nowhere/library.so");
      return "registered";
    });
    Try("a name that is not there", () => { env.UnregisterExecutionProviderLibrary("nothing"); return "done"; });
    Try("compatibility", () => Words(new[] {env.GetCompatibilityInfoFromModel(FileOf("linear"), "CPUExecutionProvider")}));
    Try("compatibility of a device", () => env.GetModelCompatibilityForEpDevices(
        env.GetEpDevices().Where(d => d.EpName == "CPUExecutionProvider").ToList(), "words"));
    Try("pairs", () => {
      using (var pairs = new OrtKeyValuePairs(new Dictionary<string, string> {{"a", "1"}, {"b", "2"}})) {
        pairs.Add("c", "3");
        pairs.Remove("a");
        pairs.Refresh();
        return Words(pairs.Entries.OrderBy(p => p.Key));
      }
    });
    Try("telemetry", () => { env.DisableTelemetryEvents(); env.EnableTelemetryEvents(); return "done"; });
    Try("an adapter", () => {
      using (var adapter = OrtLoraAdapter.Create(Path.Combine(models, "adapter.ort_lora"), null))
      using (var s = new InferenceSession(FileOf("adapted")))
      using (var x = OrtValue.CreateTensorValueFromMemory(new float[] {1, 2}, new long[] {1, 2}))
      using (var o = new RunOptions()) {
        o.AddActiveLoraAdapter(adapter);
        using (var found = s.Run(o, new[] {"x"}, new[] {x}, new[] {"y"})) return Floats(found[0]);
      }
    });
    Try("an adapter of bytes that are none", () => {
      using (OrtLoraAdapter.Create(new byte[] {1, 2, 3}, null)) return "made";
    });
  }

  static void Main(string[] arguments) {
    models = arguments[0];
    written = arguments[1];
    var lines = 0;
    using (var threads = new OrtThreadingOptions {GlobalIntraOpNumThreads = 2, GlobalInterOpNumThreads = 1,
                                                  GlobalSpinControl = false}) {
      var options = new EnvironmentCreationOptions {
        logId = "words", logLevel = OrtLoggingLevel.ORT_LOGGING_LEVEL_WARNING, threadOptions = threads,
        loggingFunction = (param, severity, category, id, place, message) => ++lines};
      OrtEnv.CreateInstanceWithOptions(ref options);
    }
    Environment();
    Types();
    Sessions();
    Options();
    Runs();
    Bindings();
    Values();
    Compiling();
    Try("the level of the log", () => {
      OrtEnv.Instance().EnvLogLevel = OrtLoggingLevel.ORT_LOGGING_LEVEL_VERBOSE;
      var before = lines;
      Linear(o => o.LogSeverityLevel = OrtLoggingLevel.ORT_LOGGING_LEVEL_VERBOSE);
      return lines > before;
    });
    Console.WriteLine("end");
  }
}
