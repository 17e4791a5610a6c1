"""What planted_cases.py expects: for each function of a plug-in a scene that calls it (planted_scenes.py), and for each
kind of fault (faults/wrap.h) how that ends.

  words   an error with these words, which names the provider or the library
  [words] the same in the log, and the scene ends well
  FINE    the scene ends well without the function, or without its result
  OWN     the result is wrong, and nobody but the plug-in can know
"""
FINE, OWN = "fine", "own"
PROVIDER = "SdxTestProvider: "
ROWS = {}
# What cannot be given back, because the function that does is the one that is missing.
STAYS = {
    ("OrtDataTransferImpl::Release", "null"): "transfers",
    ("OrtSyncStreamImpl::Release", "null"): "streams",
    ("OrtSyncNotificationImpl::Release", "null"): "notifications",
    ("OrtKernelImpl::Release", "null"): "kernels",
    ("OrtEpProfilerImpl::Release", "null"): "profilers",
    ("OrtExternalResourceImporterImpl::Release", "null"): "importers",
    ("OrtCustomOp::KernelDestroy", "null"): "kernels",
    ("OrtCustomOp::ReleaseMayInplace", "null"): "packed",
    ("OrtCustomOp::ReleaseAliasMap", "null"): "packed",
}
# Functions of the headers that the runtime does not call.
UNUSED = {
    "OrtEp::GetAvailableResource": "nodes are not assigned by what a device has left",
    "OrtEpFactory::SelectBestModelCandidate": "packages of several models are not opened",
    "OrtSyncNotificationImpl::WaitOnDevice": "there is only one device here; run_on_streams_test.cpp has two",
    "OrtExternalResourceImporterImpl::ReleaseMemory": "only for a handle without Release, which is an error",
    "OrtExternalResourceImporterImpl::ReleaseSemaphore": "as before",
    "OrtCustomOp::GetInputMemoryType": "kernels of custom operators run on the CPU",
}


def fails(function, scene, called=None, **others):
    """It returns a status, and may throw. `called`: how errors name it, with the node if there is one."""
    called = PROVIDER + function if called is None else called
    throws(function, scene, called, fail=called + ": planted fault in " + function, **others)


def throws(function, scene, called=None, **others):
    called = PROVIDER + function if called is None else called
    ROWS.setdefault(function, {})[scene] = {
        "throw": called + " threw: planted exception in " + function,
        "throw_int": called + " threw an exception of an unknown type", **others}


def releases(function, scene, called=None, **others):
    """What goes wrong is logged: what it gives back is gone in any case."""
    called = PROVIDER + function if called is None else called
    ROWS.setdefault(function, {})[scene] = {
        "throw": [called + " threw: planted exception in " + function],
        "throw_int": [called + " threw an exception of an unknown type"], **others}


def tells(function, scene, **others):
    """What fails is logged, and things go on without it."""
    called = PROVIDER + function
    ROWS.setdefault(function, {})[scene] = {
        "fail": [called + ": planted fault in " + function],
        "throw": [called + " threw: planted exception in " + function],
        "throw_int": [called + " threw an exception of an unknown type"], **others}


# ---- the functions that the library exports
LIBRARY = "libtest_faulty_plugin.so: "
QUOTED = "libtest_faulty_plugin.so': "
RETURNED = "factories; expected at most 4 and as many as it returns ("
fails("CreateEpFactories", "load", LIBRARY + "CreateEpFactories", many="1000 " + RETURNED, gap="2 " + RETURNED,
      twice="2 " + RETURNED + "1)", old=FINE)
ROWS["CreateEpFactories"]["nothing_there"] = {"nothing": FINE}
releases("ReleaseEpFactory", "load", LIBRARY + "ReleaseEpFactory",
         fail=[LIBRARY + "ReleaseEpFactory: planted fault in ReleaseEpFactory"])

# ---- OrtEpFactory
F = "OrtEpFactory::"
REQUIRED = QUOTED + "expected a factory with GetName, GetVendor, GetSupportedDevices, CreateEp and ReleaseEp"
SAID = "it says that it supports "
throws(F + "GetName", "load", LIBRARY + F + "GetName", nothing=QUOTED + F + "GetName: expected a name, found none",
       empty=QUOTED + F + "GetName: expected a name, found none", null=REQUIRED)
throws(F + "GetVendor", "load", PROVIDER + F + "GetSupportedDevices: OrtEpFactory::GetVendor", nothing=FINE,
       null=REQUIRED)
throws(F + "GetVersion", "load", PROVIDER + F + "GetSupportedDevices: OrtEpFactory::GetVersion", nothing=FINE,
       null=FINE)
fails(F + "GetSupportedDevices", "load", null=REQUIRED, many=SAID + "1000", none=SAID + "0", twice=SAID + "5",
      gap=SAID + "5")
ROWS[F + "GetSupportedDevices"]["nothing_there"] = {"nothing": FINE}
fails(F + "CreateEp", "host", nothing=PROVIDER + F + "CreateEp: expected a provider, found NULL", null=REQUIRED)
releases(F + "ReleaseEp", "host", null=REQUIRED)
throws(F + "GetVendorId", "chosen", nothing=FINE, null=FINE)
fails(F + "ValidateCompiledModelCompatibilityInfo", "compatibility", nothing=OWN, null=OWN, odd=OWN)
NO_MEMORY = "CreateAllocator: expected an allocator with Alloc, Free and Info for 'SdxTestCard', found "
NO_FUNCTION = "OrtEpFactory: expected functions CreateAllocator and ReleaseAllocator"
fails(F + "CreateAllocator", "card", nothing=NO_MEMORY + "none", null=NO_FUNCTION)
fails(F + "CreateAllocator", "allocator", nothing=NO_MEMORY + "none", null=NO_FUNCTION)
releases(F + "ReleaseAllocator", "card", null=NO_FUNCTION)
fails(F + "CreateDataTransfer", "load", nothing=FINE, null=FINE)
CANNOT_COPY = "CanCopy: expected a provider with memory of its own to copy"
ROWS[F + "CreateDataTransfer"]["card"] = {"nothing": CANNOT_COPY, "null": CANNOT_COPY}
throws(F + "IsStreamAware", "card_crossing", nothing=FINE, null=FINE)
throws(F + "IsStreamAware", "stream", nothing="the provider 'SdxTestProvider' has no streams",
       null="the provider 'SdxTestProvider' has no streams")
NO_STREAM = "CreateSyncStreamForDevice: expected a stream with Release and GetHandle, found "
fails(F + "CreateSyncStreamForDevice", "card_crossing", nothing=NO_STREAM + "none", null=FINE)
fails(F + "CreateSyncStreamForDevice", "stream", nothing=NO_STREAM + "none",
      null="the provider 'SdxTestProvider' has no streams")
fails(F + "GetHardwareDeviceIncompatibilityDetails", "incompatibility", nothing=FINE, null=FINE)
fails(F + "CreateExternalResourceImporterForDevice", "interoperation")
ROWS[F + "CreateExternalResourceImporterForDevice"]["no_importer"] = {"nothing": FINE, "null": FINE}
fails(F + "GetNumCustomOpDomains", "host", nothing=FINE, null=FINE, many="expected at most 65536 domains, found ")
fails(F + "GetCustomOpDomains", "domains", nothing="expected 1 domains, found NULL among them",
      null="expected a function that gives 1 domains")
fails(F + "InitGraphicsInterop", "graphics", nothing=FINE, null="'SdxTestProvider' shares nothing with graphics")
fails(F + "DeinitGraphicsInterop", "graphics", nothing=FINE, null="'SdxTestProvider' shares nothing with graphics")

# ---- OrtEp
E = "OrtEp::"
NAMED = "OrtEp::GetName: expected the name of its factory, found "
throws(E + "GetName", "host", nothing=NAMED + "'NULL'", other=NAMED + "'AnotherProvider'",
       null="OrtEp: expected a function GetName, found NULL")
ALONE = "; the providers after it run its nodes"
PATH = "together with nodes that it depends on through node #1 ("
tells(E + "GetCapability", "host", nothing=FINE, null=FINE, first_alone=FINE, first=FINE, first_twice=FINE, all=FINE,
      ends=[PROVIDER + E + "GetCapability: it claims node #5 (Neg, output 'y') " + PATH, ALONE],
      no_nodes=["expected at least one node to fuse, found none" + ALONE],
      null_node=["argument 'nodes[i]': expected a pointer, found NULL" + ALONE])
ROWS[E + "GetCapability"]["host_unclaimed"] = {"first_alone": FINE, "first": FINE, "first_twice": FINE,
                                               "ends": [PATH, ALONE]}
ROWS[E + "GetCapability"]["host_branches"] = {"first_alone": FINE, "first": FINE, "first_twice": FINE, "all": FINE,
                                              "ends": [PATH + "If", ALONE]}
BOTH = PROVIDER + E + "Compile: expected functions Compile and ReleaseNodeComputeInfos"
NODE = "node 'SdxTestProvider_0' (SdxTestProvider.SdxTestProvider_0)"
COMPLETE = f"{PROVIDER}{E}Compile: {NODE}: expected an OrtNodeComputeInfo with CreateState, Compute and ReleaseState, "
fails(E + "Compile", "host", nothing=COMPLETE + "found none", null=BOTH, context=FINE)
ROWS[E + "Compile"]["separate"] = {"same": "Compute: expected 2 inputs, found 1"}
ROWS[E + "Compile"]["compiled"] = {"context": "OrtEp::Compile: the EPContext node 'odd' does not make 'y'"}
releases(E + "ReleaseNodeComputeInfos", "host", null=BOTH)
fails(E + "GetPreferredDataLayout", "host", nothing=FINE, null=FINE, odd="expected NCHW (0) or NHWC (1), found 7")
fails(E + "ShouldConvertDataLayoutForOp", "channels_last", nothing=FINE, null=FINE)
fails(E + "SetDynamicOptions", "dynamic", nothing=FINE, null=FINE)
fails(E + "OnRunStart", "host", nothing=FINE, null=FINE)
fails(E + "OnRunEnd", "host", nothing=FINE, null=FINE)
fails(E + "CreateAllocator", "own_memory", nothing=NO_MEMORY + "none", null=FINE)
fails(E + "CreateSyncStreamForDevice", "own_streams", nothing=NO_STREAM + "none", null=FINE)
throws(E + "GetCompiledModelCompatibilityInfo", "compiled", nothing=OWN, null=OWN)
fails(E + "GetKernelRegistry", "kernels", nothing=FINE, null=FINE)
fails(E + "IsConcurrentRunSupported", "capture", nothing=FINE, null=FINE)
fails(E + "Sync", "capture", nothing=FINE, null=FINE)
tells(E + "CreateProfiler", "profile", nothing=FINE, null=FINE)
CAPTURES = "OrtEp::IsGraphCaptureEnabled: expected functions IsGraphCaptured and ReplayGraph"
throws(E + "IsGraphCaptureEnabled", "capture", nothing=FINE, null=FINE)
throws(E + "IsGraphCaptured", "capture", null=CAPTURES,
       nothing=PROVIDER + E + "IsGraphCaptured: expected it to have captured graph 0 in 8 runs")
fails(E + "ReplayGraph", "capture", nothing=FINE, null=CAPTURES)
throws(E + "GetGraphCaptureNodeAssignmentPolicy", "capture_shapes", nothing=FINE, null=FINE, odd=FINE)
fails(E + "ReleaseCapturedGraph", "capture", nothing=FINE, null=FINE)
fails(E + "OnSessionInitializationEnd", "host", nothing=FINE, null=FINE)
fails(E + "GetDefaultMemoryDevice", "own_memory", nothing=FINE, null=FINE,
      odd="GetDefaultMemoryDevice: expected memory of one of the provider's devices")
fails(E + "GetWeightlessSupport", "weightless", nothing="'SdxTestProvider' does not compile models without their",
      null="'SdxTestProvider' does not implement GetWeightlessSupport")
fails(E + "GetEpContextDataSupport", "context_data", nothing="'SdxTestProvider' does not support the registered EPCon",
      null="'SdxTestProvider' does not support the registered EPContext data write callback",
      odd=PROVIDER + E + "GetEpContextDataSupport: expected flags of 3, found 255")

# ---- OrtNodeComputeInfo
N = "OrtNodeComputeInfo::"
RUNNING = NODE + ": " + PROVIDER + N + "Compute"
UNMADE = ": expected a call of KernelContext_GetOutput for output 0 ("
ROWS[N + "CreateState"] = {"host": {
    "fail": f"{PROVIDER}{N}CreateState: {NODE}: planted fault in {N}CreateState",
    "throw": f"{PROVIDER}{N}CreateState: {NODE} threw: planted exception in {N}CreateState",
    "throw_int": f"{PROVIDER}{N}CreateState: {NODE} threw an exception of an unknown type",
    "nothing": FINE, "null": COMPLETE + "found NULL for one of them"}}
fails(N + "Compute", "host", RUNNING, nothing=RUNNING + UNMADE, null=COMPLETE + "found NULL for one of them")
ROWS[N + "Compute"]["card_crossing"] = {"nothing": RUNNING + UNMADE}
releases(N + "ReleaseState", "host", null=COMPLETE + "found NULL for one of them")

# ---- OrtDataTransferImpl
T = "OrtDataTransferImpl::"
WHOLE = "OrtEpFactory::CreateDataTransfer: expected Release, CanCopy and CopyTensors, found NULL for one of them"
releases(T + "Release", "load", LIBRARY + T + "Release", null=WHOLE)
throws(T + "CanCopy", "card", nothing=CANNOT_COPY, null=WHOLE, odd=FINE)
throws(T + "CanCopy", "copies", null=WHOLE)
fails(T + "CopyTensors", "card", nothing=OWN, null=WHOLE)
fails(T + "CopyTensors", "borders", nothing=OWN)
fails(T + "CopyTensors", "stream", nothing=OWN)

# ---- OrtAllocator
A = "OrtAllocator::"
NONE_LEFT = "out of memory: the allocator of SdxTestProvider for 'SdxTestCard' returned NULL for "
for name in ("card", "allocator", "session_allocator", "binding", "copies"):
    # What a session asks for first are its weights, by the plug-in's Reserve, which calls Alloc.
    throws(A + "Alloc", name, None if name in ("allocator", "copies") else PROVIDER + A + "Reserve",
           nothing=NONE_LEFT, null=NO_MEMORY + "NULL for one of them")
throws(A + "Reserve", "weights", nothing=NONE_LEFT, null=FINE)
fails(A + "Shrink", "weights", null=FINE)
throws(A + "AllocOnStream", "sizes", nothing=NONE_LEFT, null=FINE)
ROWS[A + "Info"] = {"card": {"null": NO_MEMORY + "NULL for one of them"}}  # the device's memory is what counts
releases(A + "Free", "card", null=NO_MEMORY + "NULL for one of them")
fails(A + "GetStats", "allocator", nothing=FINE, null=FINE)

# ---- OrtSyncStreamImpl, OrtSyncNotificationImpl
S = "OrtSyncStreamImpl::"
releases(S + "Release", "card", null=NO_STREAM + "NULL for one of them")
throws(S + "GetHandle", "card", nothing="the handle of a kernel's stream is not that of its stream",
       null=NO_STREAM + "NULL for one of them")
MEMCPY = "node 'c/to_host' (ai.sardonyx.MemcpyToHost): " + PROVIDER
POINT = S + "CreateNotification: expected a notification with Release, Activate and WaitOnHost, found "
fails(S + "CreateNotification", "card_crossing", MEMCPY + S + "CreateNotification", nothing=POINT + "none",
      null=PROVIDER + S + "CreateNotification: expected a function, found NULL")
fails(S + "Flush", "card", nothing=OWN, null=OWN)
fails(S + "OnSessionRunEnd", "card", nothing=FINE, null=FINE)
Y = "OrtSyncNotificationImpl::"
releases(Y + "Release", "card_crossing", null=POINT + "NULL for one of them")
fails(Y + "Activate", "card_crossing", MEMCPY + Y + "Activate", nothing=OWN, null=POINT + "NULL for one of them")
fails(Y + "WaitOnHost", "card_crossing", "node #3 (Tanh, output 'd'): " + PROVIDER + Y + "WaitOnHost", nothing=OWN,
      null=POINT + "NULL for one of them")

# ---- kernels: OrtKernelImpl, and what makes them
K = "OrtKernelImpl::"
MADE = PROVIDER + "OrtKernelCreateFunc: node (Mul, output 'a')"
KERNEL = ": expected a kernel with functions Compute and Release, found "
fails("OrtKernelCreateFunc", "kernels", MADE, nothing=MADE + KERNEL + "none",
      null=PROVIDER + "OrtEpFactory::CreateEp: argument 'kernel_create_func': expected a pointer, found NULL")
fails(K + "Compute", "kernels", "output 'a'): " + PROVIDER + K + "Compute",
      nothing="output 'a'): " + PROVIDER + K + "Compute" + UNMADE + "'a'), found none",
      null=MADE + KERNEL + "NULL for one of them")
releases(K + "Release", "kernels", null=MADE + KERNEL + "NULL for one of them")
INPUT = ": node (Mul, output 'y'), input 1"
SHARED = ": expected a packed weight and a function SetSharedPrePackedWeight where weights are stored to be shared"
fails(K + "PrePackWeight", "packs", PROVIDER + K + "PrePackWeight" + INPUT, nothing=FINE, null=FINE,
      odd=PROVIDER + K + "PrePackWeight" + INPUT + SHARED)
fails(K + "SetSharedPrePackedWeight", "packs", PROVIDER + K + "SetSharedPrePackedWeight" + INPUT,
      null=PROVIDER + K + "PrePackWeight" + INPUT + SHARED)
releases("OrtLoopKernelHelper::Release", "control_flow", null="argument 'helper': expected a function Release")
# The executor does by itself what these are for, but ONNX Runtime does not.
ROWS["OrtLoopKernelHelper::ConcatOutput"] = {"control_flow": {"null": "expected a function ConcatOutput, found NULL"}}
ROWS["OrtScanKernelHelper::Transpose"] = {"control_flow": {"null": "expected a function Transpose, found NULL"}}
releases("OrtScanKernelHelper::Release", "control_flow", null="argument 'helper': expected a function Release")

# ---- OrtEpProfilerImpl
P = "OrtEpProfilerImpl::"
PROFILER = ["OrtEp::CreateProfiler: expected a profiler with Release, StartProfiling and EndProfiling, found NULL for"]
releases(P + "Release", "profile", null=PROFILER)
tells(P + "StartProfiling", "profile", nothing=FINE, null=PROFILER)
tells(P + "StartEvent", "profile", nothing=["events do not nest"], null=["events do not nest"])
tells(P + "StopEvent", "profile", nothing=FINE, null=FINE)
tells(P + "EndProfiling", "profile", nothing=FINE, null=PROFILER)

# ---- OrtExternalResourceImporterImpl, and the handles that it makes
R = "OrtExternalResourceImporterImpl::"
UNABLE = ": the provider has no such function"
HANDLE = ": expected a handle with a function Release, found "
for name in ("CanImportMemory", "CanImportSemaphore"):
    throws(R + name, "interoperation", nothing=FINE, null=FINE)
for name in ("ImportMemory", "ImportSemaphore"):
    fails(R + name, "interoperation", nothing=R + name + HANDLE + "none", null=R + name + UNABLE)
fails(R + "CreateTensorFromMemory", "interoperation", nothing="CreateTensorFromMemory: expected a tensor, found none",
      null=R + "CreateTensorFromMemory" + UNABLE)
for name in ("WaitSemaphore", "SignalSemaphore"):
    fails(R + name, "interoperation", nothing=FINE, null=R + name + UNABLE)
releases(R + "Release", "interoperation", LIBRARY + R + "Release",
         null="CreateExternalResourceImporterForDevice: expected an importer with a function Release, found NULL")
for name in ("Memory", "Semaphore"):
    releases(f"OrtExternal{name}Handle::Release", "interoperation", null=R + "Import" + name + HANDLE + "NULL for it")

# ---- OrtCustomOp: the structs are read when the library makes its factory
C = "OrtCustomOp::"


def asks(name, operator="Triple", **others):
    throws(C + name, "custom_kernels", f"{LIBRARY}CreateEpFactories: custom operator {operator}: {name}", **others)


def read(operator, name):
    return f"{LIBRARY}CreateEpFactories: custom operator {operator}: {name}"


ABSENT = ": expected a function, found NULL"
NO_NAME = "custom operator: expected a name from GetName, found none"
throws(C + "GetName", "custom_kernels", "custom operator of an unknown name: GetName", nothing=NO_NAME,
       null="custom operator of an unknown name: GetName" + ABSENT)
asks("GetExecutionProviderType", nothing=FINE, null=FINE)
TWO = "node #1 (test.plugin.Fourfold, output 'b'): custom operator Fourfold("
for way in ("Input", "Output"):
    name = f"Get{way}Type"
    asks(name, nothing=FINE, null=read("Triple", name + ABSENT))
    asks(name + "Count", nothing=TWO, null=read("Triple", name + "Count" + ABSENT))
    asks(f"Get{way}Characteristic", nothing=TWO, null=TWO)
    for name in (f"GetVariadic{way}MinArity", f"GetVariadic{way}Homogeneity"):
        asks(name, "Fourfold", nothing=FINE, null=read("Fourfold", name + ABSENT))
ROWS[C + "GetInputType"]["custom_kernels"] |= {
    "odd": read("Triple", "GetInputType(0): expected an ONNXTensorElementDataType from 1 to 26, found 77")}
ROWS[C + "GetInputTypeCount"]["custom_kernels"] |= {"many": read("Triple", "expected at most 1024 Inputs, found 1844")}
ROWS[C + "GetInputCharacteristic"]["custom_kernels"] |= {
    "odd": read("Triple", "GetInputCharacteristic(0): expected required (0), optional (1) or variadic (2), found 77")}
ROWS[C + "GetVariadicInputMinArity"]["custom_kernels"] |= {
    "odd": read("Fourfold", "expected a minimum of 0 or more variadic Inputs, found -1")}
BEFORE = read("Triple", "expected an end version of at least 1, its start version, found 0")
asks("GetStartVersion", nothing=FINE, null=FINE)
asks("GetEndVersion", nothing=BEFORE, odd=BEFORE, null=FINE)
for name in ("MayInplace", "AliasMap"):
    asks("Get" + name, "Fourfold", null=FINE, odd=FINE)
    asks("Release" + name, "Fourfold", null=FINE)
# What fails there is a warning: the kernel knows its shapes.
ROWS[C + "InferOutputShapeFn"] = {"custom_kernels": dict.fromkeys(
    ("fail", "throw", "throw_int", "nothing", "null"), FINE)}
OLD = "node #2 (test.plugin.OldFourfold, output 'y'): custom operator OldFourfold: "
throws(C + "CreateKernel", "custom_kernels", OLD + "CreateKernel",
       null=read("OldFourfold", "expected CreateKernel or CreateKernelV2, found neither"))
NEW = "node #1 (test.plugin.Fourfold, output 'b'): custom operator Fourfold: "
fails(C + "CreateKernelV2", "custom_kernels", NEW + "CreateKernelV2", nothing=FINE,
      null=read("Triple", "expected CreateKernel or CreateKernelV2, found neither"))
fails(C + "KernelComputeV2", "custom_kernels", NEW + "KernelComputeV2",
      nothing=NEW + "KernelComputeV2" + ": expected a call of KernelContext_GetOutput for output 0, found none",
      null=read("Triple", "expected KernelCompute or KernelComputeV2, found neither"))
throws(C + "KernelCompute", "custom_kernels", OLD + "KernelCompute",
       null=read("OldFourfold", "expected KernelCompute or KernelComputeV2, found neither"))
releases(C + "KernelDestroy", "custom_kernels", "custom operator OldFourfold: KernelDestroy", null=FINE)
