/* tests/capi/program.c - a plain C program that makes models from text and runs them through the C interface.
 *
 * Prints every check that fails, then one line with the count; the exit code is the number of failures (at most 100).
 * To add a case: a function, and its call in main. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

static const OrtApi* ort;
static const SardonyxApi* own;
static OrtEnv* env;
static OrtAllocator* allocator;
static OrtMemoryInfo* host;
static int failures, checks;

static void Check(int ok, const char* what, int line) {
  ++checks;
  if (ok) return;
  ++failures;
  printf("program.c:%d: %s\n", line, what);
}
#define CHECK(condition) Check((condition) != 0, #condition, __LINE__)

/* The call succeeds; what it says otherwise is printed. */
static int Succeeds(OrtStatusPtr status, const char* what, int line) {
  ++checks;
  if (status == NULL) return 1;
  ++failures;
  printf("program.c:%d: %s: [%d] %s\n", line, what, ort->GetErrorCode(status), ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  return 0;
}
#define OK(call) Succeeds(call, #call, __LINE__)

/* The call fails with `code`, and its message has all of the words separated by '|'. */
static void FailsWith(OrtStatusPtr status, OrtErrorCode code, const char* words, const char* what, int line) {
  ++checks;
  char list[256];
  snprintf(list, sizeof(list), "%s", words);
  int ok = status != NULL && ort->GetErrorCode(status) == code;
  for (char* word = strtok(list, "|"); word != NULL && ok; word = strtok(NULL, "|"))
    ok = strstr(ort->GetErrorMessage(status), word) != NULL;
  if (!ok) {
    ++failures;
    printf("program.c:%d: %s: expected error %d with '%s', found %d '%s'\n", line, what, code, words,
           (int)ort->GetErrorCode(status), status != NULL ? ort->GetErrorMessage(status) : "success");
  }
  ort->ReleaseStatus(status);
}
#define FAILS(call, code, words) FailsWith(call, code, words, #call, __LINE__)

static OrtSession* SessionOf(const char* text, const OrtSessionOptions* options) {
  void* bytes = NULL;
  size_t size = 0;
  OrtSession* session = NULL;
  if (!OK(own->ParseModelText(text, strlen(text), allocator, &bytes, &size))) return NULL;
  OK(ort->CreateSessionFromArray(env, bytes, size, options, &session));
  allocator->Free(allocator, bytes); /* the session has its own copy */
  return session;
}

static OrtValue* Tensor(void* data, size_t size, const int64_t* shape, size_t rank, ONNXTensorElementDataType type) {
  OrtValue* value = NULL;
  OK(ort->CreateTensorWithDataAsOrtValue(host, data, size, shape, rank, type, &value));
  return value;
}

static OrtValue* Floats(float* data, const int64_t* shape, size_t rank) {
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= (size_t)shape[i];
  return Tensor(data, count * sizeof(float), shape, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
}

static const char* const kAffine =
    "<ir_version: 8, opset_import: [\"\" : 17], producer_name: \"program.c\", model_version: 7,\n"
    " doc_string: \"adds\", metadata_props: [\"author\": \"us\"]>\n"
    "affine (float[N,3] x, float[3] bias) => (float[N,3] y, float[N,3] z)\n"
    "<float[3] bias = {10.0, 20.0, 30.0}>\n"
    "{ y = Add(x, bias)\n  z = Mul(y, y) }\n";

static void TestTables(void) {
  const OrtApiBase* base = OrtGetApiBase();
  CHECK(base->GetApi(1) == ort && base->GetApi(17) == ort);
  CHECK(base->GetApi(0) == NULL && base->GetApi(ORT_API_VERSION + 1) == NULL);
  CHECK(strncmp(base->GetVersionString(), "1.31.", 5) == 0);
  CHECK(SardonyxGetApi(0) == NULL && SardonyxGetApi(SARDONYX_API_VERSION + 1) == NULL);
  CHECK(ort->GetTrainingApi(ORT_API_VERSION) == NULL);
  CHECK(ort->GetModelEditorApi() != NULL && ort->GetCompileApi() != NULL && ort->GetEpApi() != NULL);
  /* No slot of any table is empty. */
  for (size_t i = 0; i < sizeof(OrtApi) / sizeof(void*); ++i) CHECK(((void* const*)ort)[i] != NULL);
  for (size_t i = 0; i < sizeof(OrtEpApi) / sizeof(void*); ++i) CHECK(((void* const*)ort->GetEpApi())[i] != NULL);
  OrtKernelImpl* kernel = NULL;
  FAILS(ort->GetEpApi()->CreateIfKernel(NULL, &kernel), ORT_INVALID_ARGUMENT, "kernel_info");
  OrtEnv* again = NULL;
  OK(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "again", &again));
  CHECK(again == env);
  ort->ReleaseEnv(again);
}

static void TestStatus(void) {
  OrtStatus* status = ort->CreateStatus(ORT_EP_FAIL, "why");
  CHECK(ort->GetErrorCode(status) == ORT_EP_FAIL && strcmp(ort->GetErrorMessage(status), "why") == 0);
  ort->ReleaseStatus(status);
  ort->ReleaseStatus(NULL);
  FAILS(ort->CreateSessionOptions(NULL), ORT_INVALID_ARGUMENT, "options|NULL");
  FAILS(ort->CreateRunOptions(NULL), ORT_INVALID_ARGUMENT, "out|NULL");
  FAILS(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, NULL), ORT_INVALID_ARGUMENT, "out|NULL");
  FAILS(ort->SessionGetInputCount(NULL, NULL), ORT_INVALID_ARGUMENT, "NULL");
}

static void TestAllocator(void) {
  void* block = NULL;
  OK(ort->AllocatorAlloc(allocator, 100, &block));
  CHECK(block != NULL && (uintptr_t)block % 64 == 0);
  OK(ort->AllocatorFree(allocator, block));
  CHECK(allocator->Alloc(allocator, 0) == NULL);
  CHECK(allocator->version == ORT_API_VERSION && allocator->Reserve != NULL && allocator->GetStats != NULL);
  CHECK(allocator->AllocOnStream == NULL && allocator->Shrink == NULL);
  const OrtMemoryInfo* info = NULL;
  const char* name = NULL;
  int same = -1;
  OK(ort->AllocatorGetInfo(allocator, &info));
  OK(ort->MemoryInfoGetName(info, &name));
  CHECK(strcmp(name, "Cpu") == 0);
  OK(ort->CompareMemoryInfo(info, host, &same));
  CHECK(same == 0);
}

static void TestDescription(OrtSession* session) {
  size_t count = 0;
  OK(ort->SessionGetInputCount(session, &count));
  CHECK(count == 1);
  OK(ort->SessionGetOutputCount(session, &count));
  CHECK(count == 2);
  OK(ort->SessionGetOverridableInitializerCount(session, &count));
  CHECK(count == 1);
  char* name = NULL;
  OK(ort->SessionGetOutputName(session, 1, allocator, &name));
  CHECK(strcmp(name, "z") == 0);
  allocator->Free(allocator, name);
  OK(ort->SessionGetOverridableInitializerName(session, 0, allocator, &name));
  CHECK(strcmp(name, "bias") == 0);
  allocator->Free(allocator, name);
  FAILS(ort->SessionGetInputName(session, 1, allocator, &name), ORT_FAIL, "input|1");

  OrtTypeInfo* type = NULL;
  const OrtTensorTypeAndShapeInfo* tensor = NULL;
  int64_t dims[2] = {0, 0};
  const char* symbols[2] = {NULL, NULL};
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  OK(ort->SessionGetInputTypeInfo(session, 0, &type));
  OK(ort->CastTypeInfoToTensorInfo(type, &tensor));
  OK(ort->GetTensorElementType(tensor, &element));
  OK(ort->GetDimensions(tensor, dims, 2));
  OK(ort->GetSymbolicDimensions(tensor, symbols, 2));
  CHECK(element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && dims[0] == -1 && dims[1] == 3);
  CHECK(strcmp(symbols[0], "N") == 0 && strcmp(symbols[1], "") == 0);
  ort->ReleaseTypeInfo(type);

  OrtModelMetadata* metadata = NULL;
  char** keys = NULL;
  int64_t key_count = 0, version = 0;
  char* text = NULL;
  OK(ort->SessionGetModelMetadata(session, &metadata));
  OK(ort->ModelMetadataGetProducerName(metadata, allocator, &text));
  CHECK(strcmp(text, "program.c") == 0);
  allocator->Free(allocator, text);
  OK(ort->ModelMetadataGetVersion(metadata, &version));
  CHECK(version == 7);
  OK(ort->ModelMetadataGetCustomMetadataMapKeys(metadata, allocator, &keys, &key_count));
  CHECK(key_count == 1 && strcmp(keys[0], "author") == 0);
  allocator->Free(allocator, keys[0]);
  allocator->Free(allocator, keys);
  OK(ort->ModelMetadataLookupCustomMetadataMap(metadata, allocator, "author", &text));
  CHECK(text != NULL && strcmp(text, "us") == 0);
  allocator->Free(allocator, text);
  OK(ort->ModelMetadataLookupCustomMetadataMap(metadata, allocator, "nobody", &text));
  CHECK(text == NULL);
  ort->ReleaseModelMetadata(metadata);
}

static void TestRun(OrtSession* session) {
  float x[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[2] = {2, 3};
  OrtValue* input = Floats(x, shape, 2);
  const char* const in[1] = {"x"};
  const char* const out[2] = {"z", "y"}; /* not in the model's order */
  OrtValue* outputs[2] = {NULL, NULL};
  if (OK(ort->Run(session, NULL, in, (const OrtValue* const*)&input, 1, out, 2, outputs))) {
    float *z = NULL, *y = NULL;
    OK(ort->GetTensorMutableData(outputs[0], (void**)&z));
    OK(ort->GetTensorMutableData(outputs[1], (void**)&y));
    CHECK(y[0] == 11 && y[5] == 36 && z[0] == 121 && z[5] == 36 * 36);
    OrtTensorTypeAndShapeInfo* info = NULL;
    int64_t dims[2] = {0, 0};
    OK(ort->GetTensorTypeAndShape(outputs[0], &info));
    OK(ort->GetDimensions(info, dims, 2));
    CHECK(dims[0] == 2 && dims[1] == 3);
    ort->ReleaseTensorTypeAndShapeInfo(info);
  }
  ort->ReleaseValue(outputs[0]);
  ort->ReleaseValue(outputs[1]);

  /* An overridden initializer, and a result in the caller's own memory. */
  float bias[3] = {0, 1, 2}, result[6] = {0};
  const int64_t bias_shape[1] = {3};
  OrtValue* inputs[2] = {Floats(bias, bias_shape, 1), input};
  const char* const in2[2] = {"bias", "x"};
  OrtValue* bound = Floats(result, shape, 2);
  outputs[0] = bound;
  const char* const y_only[1] = {"y"};
  OK(ort->Run(session, NULL, in2, (const OrtValue* const*)inputs, 2, y_only, 1, outputs));
  CHECK(outputs[0] == bound && result[0] == 1 && result[1] == 3 && result[5] == 8);
  ort->ReleaseValue(bound);
  ort->ReleaseValue(inputs[0]);
  ort->ReleaseValue(input);
}

static void TestWrongInputs(OrtSession* session) {
  float x[6] = {0};
  int64_t ints[6] = {0};
  const int64_t shape[2] = {2, 3}, wide[2] = {3, 2}, flat[1] = {6};
  OrtValue* good = Floats(x, shape, 2);
  OrtValue* wrong[3] = {Tensor(ints, sizeof(ints), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64), Floats(x, flat, 1),
                        Floats(x, wide, 2)};
  const char* const words[3] = {"x|float|int64", "x|[N,3]|rank 1", "x|3|2"};
  const char *x_name = "x", *y_name = "y", *typo = "bais";
  OrtValue* output = NULL;
  for (int i = 0; i < 3; ++i)
    FAILS(ort->Run(session, NULL, &x_name, (const OrtValue* const*)&wrong[i], 1, &y_name, 1, &output),
          ORT_INVALID_ARGUMENT, words[i]);
  FAILS(ort->Run(session, NULL, NULL, NULL, 0, &y_name, 1, &output), ORT_INVALID_ARGUMENT, "x");
  FAILS(ort->Run(session, NULL, &typo, (const OrtValue* const*)&good, 1, &y_name, 1, &output), ORT_INVALID_ARGUMENT,
        "bais|bias");
  FAILS(ort->Run(session, NULL, &x_name, (const OrtValue* const*)&good, 1, &typo, 1, &output), ORT_INVALID_ARGUMENT,
        "bais");
  const OrtValue* none = NULL;
  FAILS(ort->Run(session, NULL, &x_name, &none, 1, &y_name, 1, &output), ORT_INVALID_ARGUMENT, "NULL");
  CHECK(output == NULL);
  float small[3] = {0};
  const int64_t small_shape[2] = {1, 3};
  output = Floats(small, small_shape, 2);
  FAILS(ort->Run(session, NULL, &x_name, (const OrtValue* const*)&good, 1, &y_name, 1, &output), ORT_INVALID_ARGUMENT,
        "y|[2, 3]|[1, 3]");
  ort->ReleaseValue(output);
  for (int i = 0; i < 3; ++i) ort->ReleaseValue(wrong[i]);
  ort->ReleaseValue(good);
}

static void TestTerminate(OrtSession* session) {
  float x[3] = {0};
  const int64_t shape[2] = {1, 3};
  OrtValue *input = Floats(x, shape, 2), *output = NULL;
  const char *x_name = "x", *y_name = "y";
  OrtRunOptions* options = NULL;
  OK(ort->CreateRunOptions(&options));
  OK(ort->RunOptionsSetTerminate(options));
  FAILS(ort->Run(session, options, &x_name, (const OrtValue* const*)&input, 1, &y_name, 1, &output), ORT_FAIL,
        "terminat");
  OK(ort->RunOptionsUnsetTerminate(options));
  OK(ort->Run(session, options, &x_name, (const OrtValue* const*)&input, 1, &y_name, 1, &output));
  ort->ReleaseValue(output);
  ort->ReleaseRunOptions(options);
  ort->ReleaseValue(input);
}

static void TestBinding(OrtSession* session) {
  float x[3] = {1, 2, 3}, y[3] = {0};
  const int64_t shape[2] = {1, 3};
  OrtValue *input = Floats(x, shape, 2), *output = Floats(y, shape, 2);
  OrtIoBinding* binding = NULL;
  OK(ort->CreateIoBinding(session, &binding));
  OK(ort->BindInput(binding, "x", input));
  OK(ort->BindOutput(binding, "y", output));
  OK(ort->BindOutputToDevice(binding, "z", host));
  FAILS(ort->BindInput(binding, "w", input), ORT_FAIL, "w");
  for (int i = 0; i < 3; ++i) {
    x[0] = (float)i;
    OK(ort->RunWithBinding(session, NULL, binding));
    CHECK(y[0] == (float)i + 10 && y[2] == 33);
  }
  char* names = NULL;
  size_t *lengths = NULL, count = 0;
  OK(ort->GetBoundOutputNames(binding, allocator, &names, &lengths, &count));
  CHECK(count == 2 && lengths[0] == 1 && strncmp(names, "yz", 2) == 0);
  allocator->Free(allocator, names);
  allocator->Free(allocator, lengths);
  OrtValue** values = NULL;
  OK(ort->GetBoundOutputValues(binding, allocator, &values, &count));
  float* z = NULL;
  OK(ort->GetTensorMutableData(values[1], (void**)&z));
  CHECK(count == 2 && z[0] == 144);
  for (size_t i = 0; i < count; ++i) ort->ReleaseValue(values[i]);
  allocator->Free(allocator, values);
  ort->ReleaseIoBinding(binding);
  ort->ReleaseValue(output);
  ort->ReleaseValue(input);
}

static int logged;
static void ORT_API_CALL CountMessages(void* parameter, OrtLoggingLevel severity, const char* category, const char* id,
                                       const char* location, const char* message) {
  (void)severity, (void)category, (void)id, (void)location;
  *(int*)parameter += message[0] != '\0';
}

static void TestOptions(void) {
  OrtSessionOptions *options = NULL, *clone = NULL;
  OK(ort->CreateSessionOptions(&options));
  OK(ort->SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL));
  OK(ort->SetIntraOpNumThreads(options, 1));
  OK(ort->SetUserLoggingFunction(options, CountMessages, &logged));
  OK(ort->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_VERBOSE));
  OK(ort->AddFreeDimensionOverrideByName(options, "N", 4));
  OK(ort->AddSessionConfigEntry(options, "session.disable_prepacking", "0"));
  OK(ort->CloneSessionOptions(options, &clone));
  int has = 0;
  OK(ort->HasSessionConfigEntry(clone, "session.disable_prepacking", &has));
  CHECK(has == 1);
  OrtSession* session = SessionOf(kAffine, clone);
  if (session != NULL) {
    OrtTypeInfo* type = NULL;
    const OrtTensorTypeAndShapeInfo* tensor = NULL;
    int64_t dims[2] = {0, 0};
    OK(ort->SessionGetInputTypeInfo(session, 0, &type));
    OK(ort->CastTypeInfoToTensorInfo(type, &tensor));
    OK(ort->GetDimensions(tensor, dims, 2));
    CHECK(dims[0] == 4 && dims[1] == 3);
    ort->ReleaseTypeInfo(type);
  }
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(clone);
  ort->ReleaseSessionOptions(options);

  /* An initializer replaced by the caller's memory. */
  float weights[3] = {1, 1, 1}, x[3] = {1, 2, 3};
  const int64_t weights_shape[1] = {3}, shape[2] = {1, 3};
  OrtValue *value = Floats(weights, weights_shape, 1), *input = Floats(x, shape, 2), *output = NULL;
  OK(ort->CreateSessionOptions(&options));
  OK(ort->AddInitializer(options, "w", value));
  FAILS(ort->AddInitializer(options, "w", value), ORT_INVALID_ARGUMENT, "w");
  session = SessionOf(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N,3] x) => (float[N,3] y) <float[3] w = {5.0, 5.0, 5.0}> { y = Add(x, w) }",
      options);
  const char *x_name = "x", *y_name = "y";
  if (session != NULL && OK(ort->Run(session, NULL, &x_name, (const OrtValue* const*)&input, 1, &y_name, 1, &output))) {
    float* y = NULL;
    OK(ort->GetTensorMutableData(output, (void**)&y));
    CHECK(y[0] == 2 && y[2] == 4);
  }
  ort->ReleaseValue(output);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);

  /* External initializers are copied when the session is created: the caller's memory may change or go. */
  output = NULL;
  OK(ort->CreateSessionOptions(&options));
  const char* w_name = "w";
  OK(ort->AddExternalInitializers(options, &w_name, (const OrtValue* const*)&value, 1));
  session = SessionOf(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N,3] x) => (float[N,3] y) <float[3] w = {5.0, 5.0, 5.0}> { y = Add(x, w) }",
      options);
  ort->ReleaseSessionOptions(options);
  weights[0] = weights[1] = weights[2] = 100;
  if (session != NULL && OK(ort->Run(session, NULL, &x_name, (const OrtValue* const*)&input, 1, &y_name, 1, &output))) {
    float* y = NULL;
    OK(ort->GetTensorMutableData(output, (void**)&y));
    CHECK(y[0] == 2 && y[2] == 4);
  }
  ort->ReleaseValue(output);
  ort->ReleaseSession(session);
  ort->ReleaseValue(value);
  ort->ReleaseValue(input);
}

/* Memory and time end in an error, of one run or of the load. */
static void TestLimits(void) {
  const char* const text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (int64[1] n) => (float[m] y) { y = ConstantOfShape(n) }";
  const char* const loop =
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (int64 n, float x) => (float y) { y = Loop(n, \"\", x) "
      "<body = b (int64 i, bool c, float a) => (bool d, float z) { d = Identity(c) z = Neg(a) }> }";
  int64_t few = 10, many = 100000, trips = INT64_MAX;
  float zero = 0;
  const int64_t shape[1] = {1};
  const char *n_name = "n", *y_name = "y", *names[2] = {"n", "x"};
  OrtSessionOptions* options = NULL;
  OK(ort->CreateSessionOptions(&options));
  OK(ort->AddSessionConfigEntry(options, "sardonyx.max_run_memory", "100000"));
  OK(ort->AddSessionConfigEntry(options, "sardonyx.run_timeout_ms", "50"));
  OrtSession *session = SessionOf(text, options), *endless = SessionOf(loop, options);
  OrtValue* numbers[2] = {Tensor(&few, sizeof(few), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64),
                          Tensor(&many, sizeof(many), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)};
  OrtValue* inputs[2] = {Tensor(&trips, sizeof(trips), shape, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64),
                         Floats(&zero, shape, 0)};
  OrtValue* output = NULL;
  if (session != NULL && endless != NULL) {
    OK(ort->Run(session, NULL, &n_name, (const OrtValue* const*)&numbers[0], 1, &y_name, 1, &output));
    ort->ReleaseValue(output);
    output = NULL;
    FAILS(ort->Run(session, NULL, &n_name, (const OrtValue* const*)&numbers[1], 1, &y_name, 1, &output), ORT_FAIL,
          "100000|sardonyx.max_run_memory|400000");
    FAILS(ort->Run(endless, NULL, names, (const OrtValue* const*)inputs, 2, &y_name, 1, &output), ORT_FAIL,
          "50|sardonyx.run_timeout_ms");
    CHECK(output == NULL);
  }
  for (int i = 0; i < 2; ++i) {
    ort->ReleaseValue(numbers[i]);
    ort->ReleaseValue(inputs[i]);
  }
  ort->ReleaseSession(session);
  ort->ReleaseSession(endless);
  ort->ReleaseSessionOptions(options);
}

static void TestStrings(void) {
  OrtSession* session = SessionOf(
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (string[2] x) => (string[2] y) { y = Identity(x) }", NULL);
  const int64_t shape[1] = {2};
  OrtValue *input = NULL, *output = NULL;
  const char *const texts[2] = {"caf\xc3\xa9", ""}, *x_name = "x", *y_name = "y";
  OK(ort->CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &input));
  OK(ort->FillStringTensor(input, texts, 2));
  if (session != NULL && OK(ort->Run(session, NULL, &x_name, (const OrtValue* const*)&input, 1, &y_name, 1, &output))) {
    size_t length = 0, offsets[2] = {9, 9};
    char text[8] = {0};
    OK(ort->GetStringTensorDataLength(output, &length));
    OK(ort->GetStringTensorContent(output, text, length, offsets, 2));
    CHECK(length == 5 && strcmp(text, texts[0]) == 0 && offsets[0] == 0 && offsets[1] == 5);
  }
  ort->ReleaseValue(input);
  ort->ReleaseValue(output);
  ort->ReleaseSession(session);
}

static void TestContainers(void) {
  float a[2] = {1, 2}, b[3] = {3, 4, 5};
  const int64_t two[1] = {2}, three[1] = {3};
  OrtValue *items[2] = {Floats(a, two, 1), Floats(b, three, 1)}, *sequence = NULL, *item = NULL, *length = NULL;
  OK(ort->CreateValue((const OrtValue* const*)items, 2, ONNX_TYPE_SEQUENCE, &sequence));
  b[2] = 100; /* the sequence has its own memory */
  OK(ort->GetValue(sequence, 1, allocator, &item));
  float* data = NULL;
  OK(ort->GetTensorMutableData(item, (void**)&data));
  CHECK(data != b && data[2] == 5);
  OrtSession* session = SessionOf(
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (seq(float[]) s) => (int64 n) { n = SequenceLength(s) }", NULL);
  const char *in = "s", *out = "n";
  if (session != NULL && OK(ort->Run(session, NULL, &in, (const OrtValue* const*)&sequence, 1, &out, 1, &length))) {
    int64_t* n = NULL;
    OK(ort->GetTensorMutableData(length, (void**)&n));
    CHECK(*n == 2);
  }
  ort->ReleaseSession(session);
  ort->ReleaseValue(length);
  ort->ReleaseValue(item);
  ort->ReleaseValue(sequence);
  ort->ReleaseValue(items[0]);
  ort->ReleaseValue(items[1]);

  int64_t numbers[3] = {7, -1, 7};
  OrtValue *pair[2] = {Tensor(numbers, sizeof(numbers), three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64),
                       Floats(b, three, 1)},
           *map = NULL, *keys = NULL;
  OK(ort->CreateValue((const OrtValue* const*)pair, 2, ONNX_TYPE_MAP, &map));
  OK(ort->GetValue(map, 0, allocator, &keys));
  int64_t* sorted = NULL;
  OK(ort->GetTensorMutableData(keys, (void**)&sorted));
  size_t size = 0;
  OK(ort->GetTensorSizeInBytes(keys, &size));
  CHECK(size == 2 * sizeof(int64_t) && sorted[0] == -1 && sorted[1] == 7); /* ascending, each once */
  ONNXTensorElementDataType key_type, value_type;
  const void *all_keys = NULL, *all_values = NULL;
  OK(own->MapContents(map, 0, &key_type, &all_keys, &value_type, &all_values, &size));
  CHECK(key_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 && value_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  CHECK(size == 2 && ((const int64_t*)all_keys)[1] == 7 && ((const float*)all_values)[0] == 4);
  OK(ort->CreateValue((const OrtValue* const*)&map, 1, ONNX_TYPE_SEQUENCE, &sequence));
  OK(own->MapContents(sequence, 0, &key_type, &all_keys, &value_type, &all_values, &size));
  FAILS(own->MapContents(sequence, 1, &key_type, &all_keys, &value_type, &all_values, &size), ORT_INVALID_ARGUMENT,
        "expected an index in [0, 1), found 1");
  FAILS(own->MapContents(keys, 0, &key_type, &all_keys, &value_type, &all_values, &size), ORT_INVALID_ARGUMENT,
        "expected a map or a sequence of maps");
  ort->ReleaseValue(sequence);
  ort->ReleaseValue(keys);
  ort->ReleaseValue(map);
  ort->ReleaseValue(pair[0]);
  ort->ReleaseValue(pair[1]);
}

static void TestBadModels(void) {
  OrtSession* session = NULL;
  FAILS(ort->CreateSession(env, "no/such/file.onnx", NULL, &session), ORT_NO_SUCHFILE, "no/such/file.onnx");
  FAILS(ort->CreateSession(env, ".", NULL, &session), ORT_INVALID_PROTOBUF, ".");
  FAILS(ort->CreateSessionFromArray(env, "abc", 3, NULL, &session), ORT_INVALID_PROTOBUF, "");
  const char* unknown = "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[2] x) => (float[2] y) { y = Rleu(x) }";
  void* bytes = NULL;
  size_t size = 0;
  OK(own->ParseModelText(unknown, strlen(unknown), allocator, &bytes, &size));
  FAILS(ort->CreateSessionFromArray(env, bytes, size, NULL, &session), ORT_INVALID_GRAPH, "Rleu|Relu");
  FAILS(own->CheckModel(env, NULL, unknown, strlen(unknown), NULL), ORT_INVALID_GRAPH, "Rleu");
  OK(own->CheckModel(env, NULL, kAffine, strlen(kAffine), NULL));
  allocator->Free(allocator, bytes);
  const char* broken = "<ir_version: 8>\ng (float[2] x => (float[2] y) { y = Relu(x) }";
  FAILS(own->ParseModelText(broken, strlen(broken), allocator, &bytes, &size), ORT_INVALID_GRAPH, "line 2");
  FAILS(own->CheckModel(env, "x", "y", 1, NULL), ORT_INVALID_ARGUMENT, "both");
  CHECK(session == NULL);
}

static void TestOwnTable(OrtSession* session) {
  char* text = NULL;
  OK(own->PrintModelText(NULL, kAffine, strlen(kAffine), 0, allocator, &text));
  CHECK(text != NULL && strstr(text, "y = Add(x, bias)") != NULL);
  allocator->Free(allocator, text);
  text = NULL;
  OK(own->ModelInfoJson(NULL, kAffine, strlen(kAffine), allocator, &text));
  CHECK(text != NULL && strstr(text, "\"operators\":{\"Add\":1,\"Mul\":1}") != NULL);
  CHECK(text != NULL && strstr(text, "{\"name\":\"x\",\"type\":\"float\",\"shape\":[\"N\",3]}") != NULL);
  allocator->Free(allocator, text);
  text = NULL;
  OK(own->SessionPlacement(session, allocator, &text));
  CHECK(text != NULL && strstr(text, "CPUExecutionProvider") != NULL);
  allocator->Free(allocator, text);
  text = NULL;
  OK(own->SessionModelText(session, 100, allocator, &text));
  CHECK(text != NULL && strstr(text, "Add") != NULL);
  allocator->Free(allocator, text);
  text = NULL;
  const char* gelu =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[4] x) => (float[4] y) <float half = {0.5}, float one = {1.0}, float root = {1.4142135}>\n"
      "{ a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half) }";
  OK(own->ExplainRules(env, NULL, gelu, strlen(gelu), NULL, "fuse_gelu", allocator, &text));
  CHECK(text != NULL && strlen(text) > 10);
  allocator->Free(allocator, text);
  text = NULL;
  FAILS(own->ExplainRules(env, NULL, gelu, strlen(gelu), NULL, "fuse_gellu", allocator, &text), ORT_INVALID_ARGUMENT,
        "fuse_gellu|fuse_gelu");
  OrtSession* fused = SessionOf(gelu, NULL);
  OK(own->SessionModelText(fused, 100, allocator, &text));
  CHECK(text != NULL && strstr(text, "Gelu(x)") != NULL && strstr(text, "Erf") == NULL);
  allocator->Free(allocator, text);
  ort->ReleaseSession(fused);
  text = NULL;
  OK(own->SessionMemoryInfo(session, allocator, &text));
  CHECK(text != NULL && strstr(text, "weight_bytes") != NULL);
  allocator->Free(allocator, text);
}

/* Values inside of a model by name, statistics of all, the plan, a profile: off until asked for. */
static void TestSeeingInside(void) {
  const char* chain =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[N] x) => (float[N] y) { a = Identity(x) b = Log(a) c = Identity(b) y = Neg(c) }";
  OrtSessionOptions* options = NULL;
  OK(ort->CreateSessionOptions(&options));
  OK(ort->EnableProfiling(options, "capi_program_profile"));
  OrtSession* session = SessionOf(chain, options);
  if (session == NULL) return;
  float x[2] = {1, -1}, *c = NULL;
  const int64_t shape[1] = {2};
  OrtValue *input = Floats(x, shape, 1), *output = NULL;
  const char *in = "x", *inner = "c", *missing = "d";
  char* text = NULL;
  if (OK(ort->Run(session, NULL, &in, (const OrtValue* const*)&input, 1, &inner, 1, &output))) {
    OK(ort->GetTensorMutableData(output, (void**)&c));
    CHECK(c[0] == 0 && isnan(c[1]));
  }
  ort->ReleaseValue(output);
  output = NULL;
  FAILS(ort->Run(session, NULL, &in, (const OrtValue* const*)&input, 1, &missing, 1, &output), ORT_INVALID_ARGUMENT,
        "'d'|'y'");
  CHECK(output == NULL);
  OK(own->RunCheckValues(session, NULL, &in, (const OrtValue* const*)&input, 1, allocator, &text));
  CHECK(text != NULL && strstr(text, "\"first_nan\":{\"node\":") != NULL);
  CHECK(text != NULL && strstr(text, "\"first_infinity\":null") != NULL);
  allocator->Free(allocator, text);
  OK(own->SessionPlanText(session, allocator, &text));
  CHECK(text != NULL && strncmp(text, "plan of ", 8) == 0);
  allocator->Free(allocator, text);
  OK(own->SessionPlan(session, allocator, &text));
  CHECK(text != NULL && strstr(text, "\"steps\":[{") != NULL);
  allocator->Free(allocator, text);
  uint64_t start = 0;
  OK(ort->SessionGetProfilingStartTimeNs(session, &start));
  CHECK(start > 1700000000000000000u);
  OK(ort->SessionEndProfiling(session, allocator, &text));
  FILE* file = text != NULL ? fopen(text, "r") : NULL;
  char begin[16] = {0};
  CHECK(file != NULL && fread(begin, 1, sizeof(begin) - 1, file) > 4 && begin[0] == '[');
  if (file != NULL) fclose(file);
  if (text != NULL) remove(text);
  allocator->Free(allocator, text);
  OK(ort->SessionEndProfiling(session, allocator, &text));
  CHECK(text != NULL && text[0] == '\0');
  allocator->Free(allocator, text);
  ort->ReleaseValue(input);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
}

/* Counts messages that have the word that `parameter` points to. */
struct Heard {
  const char* word;
  int times;
};
static void ORT_API_CALL Listen(void* parameter, OrtLoggingLevel severity, const char* category, const char* id,
                                const char* location, const char* message) {
  struct Heard* heard = parameter;
  (void)severity, (void)category, (void)id, (void)location;
  heard->times += strstr(message, heard->word) != NULL;
}

static void TestWhatIsNotHonoured(void) {
  struct Heard key = {"session.nonsense", 0}, provider = {"NoSuchExecutionProvider", 0};
  OrtSessionOptions* options = NULL;
  OK(ort->CreateSessionOptions(&options));
  OK(ort->AddSessionConfigEntry(options, "session.nonsense", "1"));
  OK(ort->SetUserLoggingFunction(options, Listen, &key));
  ort->ReleaseSession(SessionOf(kAffine, options));
  CHECK(key.times == 1);
  OK(ort->SetUserLoggingFunction(options, Listen, &provider));
  OK(own->AppendProvider(options, "NoSuchExecutionProvider", NULL, NULL, 0, NULL));
  OK(own->AppendProvider(options, "CPUExecutionProvider", NULL, NULL, 0, NULL));
  OrtSession* session = SessionOf(kAffine, options);
  CHECK(session != NULL && provider.times == 1);
  char* text = NULL;
  OK(own->SessionProviders(session, allocator, &text));
  CHECK(text != NULL && strstr(text, "{\"providers\":[\"CPUExecutionProvider\"],\"missing\":[{\"provider\":") != NULL);
  allocator->Free(allocator, text);
  ort->ReleaseSession(session);
  OK(ort->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"));
  session = NULL;
  void* bytes = NULL;
  size_t size = 0;
  OK(own->ParseModelText(kAffine, strlen(kAffine), allocator, &bytes, &size));
  FAILS(ort->CreateSessionFromArray(env, bytes, size, options, &session), ORT_INVALID_ARGUMENT,
        "NoSuchExecutionProvider");
  allocator->Free(allocator, bytes);
  ort->ReleaseSessionOptions(options);
}

int main(void) {
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  own = SardonyxGetApi(SARDONYX_API_VERSION);
  if (ort == NULL || own == NULL) return 1;
  if (!OK(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "program", &env))) return 1;
  OK(ort->GetAllocatorWithDefaultOptions(&allocator));
  OK(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  TestTables();
  TestStatus();
  TestAllocator();
  OrtSession* session = SessionOf(kAffine, NULL);
  if (session != NULL) {
    TestDescription(session);
    TestRun(session);
    TestWrongInputs(session);
    TestTerminate(session);
    TestBinding(session);
    TestOwnTable(session);
  }
  TestOptions();
  TestLimits();
  TestStrings();
  TestContainers();
  TestBadModels();
  TestSeeingInside();
  TestWhatIsNotHonoured();
  ort->ReleaseEnv(env); /* the session keeps what it needs */
  ort->ReleaseSession(session);
  ort->ReleaseMemoryInfo(host);
  printf("%d checks, %d failed\n", checks, failures);
  return failures < 100 ? failures : 100;
}
