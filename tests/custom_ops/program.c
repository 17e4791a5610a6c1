/* tests/custom_ops/program.c - a C program that has custom operators of its own and loads libraries of others.
 *
 * usage: custom_ops_program ONNXRUNTIME LIBRARY MODEL OWN_MODEL [mistakes]
 *
 * Prints one line for each call or group of calls. MODEL uses test.custom.AddAmount of LIBRARY, OWN_MODEL
 * test.program.AddThree, which is defined here. With `mistakes` it also does what ONNX Runtime refuses or does not
 * survive, and calls every function with bad arguments. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "onnxruntime_c_api.h"

static const OrtApi* api;
static OrtEnv* env;
static OrtCustomOpDomain* own_domain;
static int made, destroyed;

/* y = x + 3, in the oldest form. */
static void* ORT_API_CALL CreateAddThree(const OrtCustomOp* op, const OrtApi* given, const OrtKernelInfo* info) {
  (void)op, (void)given, (void)info;
  ++made;
  return &made;
}
static const char* ORT_API_CALL AddThreeName(const OrtCustomOp* op) { return (void)op, "AddThree"; }
static const char* ORT_API_CALL NoName(const OrtCustomOp* op) { return (void)op, ""; }
static const char* ORT_API_CALL OnTheCpu(const OrtCustomOp* op) { return (void)op, "CPUExecutionProvider"; }
static ONNXTensorElementDataType ORT_API_CALL FloatType(const OrtCustomOp* op, size_t index) {
  return (void)op, (void)index, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static ONNXTensorElementDataType ORT_API_CALL NoType(const OrtCustomOp* op, size_t index) {
  return (void)op, (void)index, (ONNXTensorElementDataType)99;
}
static size_t ORT_API_CALL One(const OrtCustomOp* op) { return (void)op, 1; }
static OrtCustomOpInputOutputCharacteristic ORT_API_CALL Required(const OrtCustomOp* op, size_t index) {
  return (void)op, (void)index, INPUT_OUTPUT_REQUIRED;
}
static void ORT_API_CALL ComputeAddThree(void* kernel, OrtKernelContext* context) {
  const OrtValue* x;
  OrtValue* y;
  OrtTensorTypeAndShapeInfo* info;
  int64_t dims[1];
  float *from, *to;
  int64_t i;
  (void)kernel;
  if (api->KernelContext_GetInput(context, 0, &x) != NULL) return;
  if (api->GetTensorTypeAndShape(x, &info) != NULL || api->GetDimensions(info, dims, 1) != NULL) return;
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (api->KernelContext_GetOutput(context, 0, dims, 1, &y) != NULL) return;
  if (api->GetTensorMutableData((OrtValue*)x, (void**)&from) != NULL ||
      api->GetTensorMutableData(y, (void**)&to) != NULL)
    return;
  for (i = 0; i < dims[0]; ++i) to[i] = from[i] + 3;
}
static void ORT_API_CALL DestroyAddThree(void* kernel) { (void)kernel, ++destroyed; }

static OrtCustomOp AddThree(void) {
  OrtCustomOp op;
  memset(&op, 0, sizeof(op));
  op.version = 12;
  op.CreateKernel = CreateAddThree;
  op.GetName = AddThreeName;
  op.GetExecutionProviderType = OnTheCpu;
  op.GetInputType = op.GetOutputType = FloatType;
  op.GetInputTypeCount = op.GetOutputTypeCount = One;
  op.KernelCompute = ComputeAddThree;
  op.KernelDestroy = DestroyAddThree;
  op.GetInputCharacteristic = op.GetOutputCharacteristic = Required;
  return op;
}
static OrtCustomOp add_three;

static int Code(OrtStatus* status) {
  const int code = status == NULL ? 0 : (int)api->GetErrorCode(status);
  api->ReleaseStatus(status);
  return code;
}
static void Tell(const char* what, OrtStatus* status) {
  if (status == NULL) {
    printf("%s: ok\n", what);
  } else {
    printf("%s: %d\n", what, (int)api->GetErrorCode(status));
    fprintf(stderr, "%s: %s\n", what, api->GetErrorMessage(status));
    api->ReleaseStatus(status);
  }
}

/* Exported, to be found by its name. */
ORT_EXPORT OrtStatus* ORT_API_CALL RegisterOfProgram(OrtSessionOptions* options, const OrtApiBase* base);
OrtStatus* ORT_API_CALL RegisterOfProgram(OrtSessionOptions* options, const OrtApiBase* base) {
  (void)base;
  return api->AddCustomOpDomain(options, own_domain);
}

static void Run(const char* what, const char* model, const OrtSessionOptions* options) {
  OrtSession* session = NULL;
  OrtStatus* status = api->CreateSession(env, model, options, &session);
  OrtMemoryInfo* memory = NULL;
  OrtValue *x = NULL, *y = NULL;
  float values[3] = {1, 2, 3}, *results = NULL;
  const int64_t shape[1] = {3};
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  if (status != NULL) {
    Tell(what, status);
    return;
  }
  Tell("memory", api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  Tell("input", api->CreateTensorWithDataAsOrtValue(memory, values, sizeof(values), shape, 1,
                                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x));
  status = api->Run(session, NULL, inputs, (const OrtValue* const*)&x, 1, outputs, 1, &y);
  Tell(what, status);
  if (y != NULL && Code(api->GetTensorMutableData(y, (void**)&results)) == 0)
    printf("%s: %g %g %g\n", what, results[0], results[1], results[2]);
  api->ReleaseValue(x);
  api->ReleaseValue(y);
  api->ReleaseMemoryInfo(memory);
  api->ReleaseSession(session);
}

static OrtSessionOptions* NewOptions(void) {
  OrtSessionOptions* options = NULL;
  Tell("options", api->CreateSessionOptions(&options));
  return options;
}

static void UseLibrary(const char* library, const char* model) {
  OrtSessionOptions *options = NewOptions(), *clone = NULL;
  void* handle = NULL;
  Tell("register", api->RegisterCustomOpsLibrary(options, library, &handle));
  printf("handle: %s\n", handle != NULL ? "there" : "none");
  Run("a library that the caller closes", model, options);
  api->ReleaseSessionOptions(options);
  if (handle != NULL) printf("closed: %d\n", dlclose(handle));
  options = NewOptions();
  Tell("register V2", api->RegisterCustomOpsLibrary_V2(options, library));
  Tell("clone", api->CloneSessionOptions(options, &clone));
  api->ReleaseSessionOptions(options);
  Run("cloned options", model, clone);
  api->ReleaseSessionOptions(clone);
  options = NewOptions();
  Run("options without the library", model, options);
  Tell("no such library", api->RegisterCustomOpsLibrary_V2(options, "/no/such/library.so"));
  Tell("a function that is not there", api->RegisterCustomOpsUsingFunction(options, "NoSuchFunction"));
  Tell("extensions that are not there", api->EnableOrtCustomOps(options));
  api->ReleaseSessionOptions(options);
}

static void UseOwn(const char* model) {
  OrtSessionOptions* options = NewOptions();
  OrtCustomOpDomain* empty = NULL;
  add_three = AddThree();
  Tell("domain", api->CreateCustomOpDomain("test.program", &own_domain));
  Tell("add", api->CustomOpDomain_Add(own_domain, &add_three));
  Tell("a function of the program", api->RegisterCustomOpsUsingFunction(options, "RegisterOfProgram"));
  Run("an operator of the program", model, options);
  printf("kernels: %d made, %d destroyed\n", made, destroyed);
  api->ReleaseSessionOptions(options);
  options = NewOptions();
  Tell("empty domain", api->CreateCustomOpDomain("test.program", &empty));
  Tell("add the empty domain", api->AddCustomOpDomain(options, empty));
  Run("an empty domain", model, options);
  api->ReleaseSessionOptions(options);
  api->ReleaseCustomOpDomain(empty);
  api->ReleaseCustomOpDomain(NULL);
}

/* A library whose RegisterCustomOps all of the process sees, as that of onnxruntime-extensions when it is linked in. */
static void UseGlobal(const char* library, const char* model) {
  OrtSessionOptions* options = NewOptions();
  void* handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  Tell("extensions that are there", api->EnableOrtCustomOps(options));
  Run("extensions that are there", model, options);
  api->ReleaseSessionOptions(options);
  if (handle != NULL) dlclose(handle);
}

/* Structs that cannot be used, and NULL for each argument that must be there: all are errors, none ends the process. */
static void MakeMistakes(void) {
  OrtSessionOptions* options = NewOptions();
  OrtCustomOpDomain* domain = NULL;
  OrtCustomOp op = AddThree();
  OrtOpAttr* attribute = NULL;
  const OrtOpAttr* found = NULL;
  OrtKernelInfo* info = NULL;
  OrtTypeInfo* type = NULL;
  OrtOp* invoked = NULL;
  OrtValue* value = NULL;
  const OrtValue* constant = NULL;
  const OrtLogger* logger = NULL;
  OrtLoggingLevel level;
  OrtAllocator* allocator = NULL;
  OrtKeyValuePairs* pairs = NULL;
  OrtTensorTypeAndShapeInfo* shape = NULL;
  OrtSyncStream* stream = NULL;
  void* pointer = NULL;
  char** texts = NULL;
  char text[8];
  float real;
  int number;
  int64_t integer = 7;
  size_t size = sizeof(text);
  Tell("domain", api->CreateCustomOpDomain("d", &domain));
#define MISTAKE(call) Tell(#call, api->call)
  MISTAKE(CreateCustomOpDomain(NULL, &domain));
  MISTAKE(CreateCustomOpDomain("d", NULL));
  MISTAKE(CustomOpDomain_Add(NULL, &op));
  MISTAKE(CustomOpDomain_Add(domain, NULL));
  op.version = 0;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  op = AddThree();
  op.GetName = NoName;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  op = AddThree();
  op.GetName = NULL;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  op = AddThree();
  op.GetInputType = NoType;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  op = AddThree();
  op.CreateKernel = NULL;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  op = AddThree();
  op.KernelCompute = NULL;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  op = AddThree();
  op.GetOutputTypeCount = NULL;
  MISTAKE(CustomOpDomain_Add(domain, &op));
  MISTAKE(AddCustomOpDomain(NULL, domain));
  MISTAKE(AddCustomOpDomain(options, NULL));
  MISTAKE(RegisterCustomOpsLibrary(NULL, "x", &pointer));
  MISTAKE(RegisterCustomOpsLibrary(options, NULL, &pointer));
  MISTAKE(RegisterCustomOpsLibrary(options, "x", NULL));
  MISTAKE(RegisterCustomOpsLibrary_V2(NULL, "x"));
  MISTAKE(RegisterCustomOpsLibrary_V2(options, NULL));
  MISTAKE(RegisterCustomOpsUsingFunction(NULL, "RegisterOfProgram"));
  MISTAKE(RegisterCustomOpsUsingFunction(options, NULL));
  MISTAKE(RegisterCustomOpsUsingFunction(options, ""));
  MISTAKE(KernelInfoGetAttribute_float(NULL, "a", &real));
  MISTAKE(KernelInfoGetAttribute_int64(NULL, "a", &integer));
  MISTAKE(KernelInfoGetAttribute_string(NULL, "a", text, &size));
  MISTAKE(KernelInfoGetAttribute_tensor(NULL, "a", allocator, &value));
  MISTAKE(KernelInfoGetAttributeArray_float(NULL, "a", &real, &size));
  MISTAKE(KernelInfoGetAttributeArray_int64(NULL, "a", &integer, &size));
  MISTAKE(KernelInfoGetAttributeArray_string(NULL, "a", allocator, &texts, &size));
  MISTAKE(KernelInfo_GetInputCount(NULL, &size));
  MISTAKE(KernelInfo_GetOutputCount(NULL, &size));
  MISTAKE(KernelInfo_GetInputName(NULL, 0, text, &size));
  MISTAKE(KernelInfo_GetOutputName(NULL, 0, text, &size));
  MISTAKE(KernelInfo_GetInputTypeInfo(NULL, 0, &type));
  MISTAKE(KernelInfo_GetOutputTypeInfo(NULL, 0, &type));
  MISTAKE(KernelInfo_GetNodeName(NULL, text, &size));
  MISTAKE(KernelInfo_GetLogger(NULL, &logger));
  MISTAKE(KernelInfo_GetConfigEntries(NULL, &pairs));
  MISTAKE(KernelInfo_GetOperatorDomain(NULL, text, &size));
  MISTAKE(KernelInfo_GetOperatorType(NULL, text, &size));
  MISTAKE(KernelInfo_GetOperatorSinceVersion(NULL, &number));
  MISTAKE(KernelInfoGetConstantInput_tensor(NULL, 0, &number, &constant));
  MISTAKE(KernelInfoGetAllocator(NULL, OrtMemTypeDefault, &allocator));
  MISTAKE(CopyKernelInfo(NULL, &info));
  MISTAKE(KernelContext_GetInputCount(NULL, &size));
  MISTAKE(KernelContext_GetOutputCount(NULL, &size));
  MISTAKE(KernelContext_GetInput(NULL, 0, &constant));
  MISTAKE(KernelContext_GetOutput(NULL, 0, &integer, 1, &value));
  MISTAKE(KernelContext_GetPreallocatedOutput(NULL, 0, &value));
  MISTAKE(KernelContext_GetLogger(NULL, &logger));
  MISTAKE(KernelContext_GetAllocator(NULL, NULL, &allocator));
  MISTAKE(KernelContext_GetScratchBuffer(NULL, NULL, 1, &pointer));
  MISTAKE(KernelContext_GetGPUComputeStream(NULL, &pointer));
  MISTAKE(KernelContext_GetSyncStream(NULL, &stream));
  MISTAKE(KernelContext_GetResource(NULL, 1, 1, &pointer));
  MISTAKE(KernelContext_ParallelFor(NULL, NULL, 1, 1, NULL));
  MISTAKE(Logger_LogMessage(NULL, ORT_LOGGING_LEVEL_ERROR, "text", "file", 1, "function"));
  MISTAKE(Logger_GetLoggingSeverityLevel(NULL, &level));
  MISTAKE(ShapeInferContext_GetInputCount(NULL, &size));
  MISTAKE(ShapeInferContext_GetInputTypeShape(NULL, 0, &shape));
  MISTAKE(ShapeInferContext_GetAttribute(NULL, "a", &found));
  MISTAKE(ShapeInferContext_SetOutputTypeShape(NULL, 0, shape));
  MISTAKE(CreateOpAttr(NULL, &integer, 1, ORT_OP_ATTR_INT, &attribute));
  MISTAKE(CreateOpAttr("a", NULL, 1, ORT_OP_ATTR_INT, &attribute));
  MISTAKE(CreateOpAttr("a", NULL, 1, ORT_OP_ATTR_STRINGS, &attribute));
  MISTAKE(CreateOpAttr("a", &integer, -1, ORT_OP_ATTR_INTS, &attribute));
  MISTAKE(CreateOpAttr("a", &integer, 1, (OrtOpAttrType)99, &attribute));
  MISTAKE(CreateOpAttr("a", &integer, 1, ORT_OP_ATTR_INT, NULL));
  MISTAKE(ReadOpAttr(NULL, ORT_OP_ATTR_INT, &integer, sizeof(integer), &size));
  Tell("attribute", api->CreateOpAttr("a", &integer, 1, ORT_OP_ATTR_INT, &attribute));
  MISTAKE(ReadOpAttr(attribute, ORT_OP_ATTR_INT, &integer, sizeof(integer), NULL));
  MISTAKE(ReadOpAttr(attribute, ORT_OP_ATTR_INT, NULL, sizeof(integer), &size));
  MISTAKE(ReadOpAttr(attribute, (OrtOpAttrType)99, &integer, sizeof(integer), &size));
  MISTAKE(CreateOp(NULL, "Add", "", 14, NULL, NULL, 0, NULL, 0, 2, 1, &invoked));
  MISTAKE(InvokeOp(NULL, NULL, NULL, 0, NULL, 0));
  printf("end of mistakes\n");
  api->ReleaseOpAttr(attribute);
  api->ReleaseOpAttr(NULL);
  api->ReleaseOp(NULL);
  api->ReleaseKernelInfo(NULL);
  api->ReleaseCustomOpDomain(domain);
  api->ReleaseSessionOptions(options);
}

int main(int argc, char** argv) {
  void* runtime = argc > 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const OrtApiBase* (*base)(void);
  setvbuf(stdout, NULL, _IONBF, 0);
  if (runtime == NULL) {
    fprintf(stderr, "cannot open the runtime: %s\n", argc > 4 ? dlerror() : "too few arguments");
    return 2;
  }
  *(void**)&base = dlsym(runtime, "OrtGetApiBase");
  api = base()->GetApi(ORT_API_VERSION);
  Tell("environment", api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "program", &env));
  UseLibrary(argv[2], argv[3]);
  UseOwn(argv[4]);
  if (argc > 5 && strcmp(argv[5], "mistakes") == 0) {
    UseGlobal(argv[2], argv[3]);
    MakeMistakes();
  }
  api->ReleaseEnv(env);
  api->ReleaseCustomOpDomain(own_domain);
  printf("end\n");
  return 0;
}
