"""Every function of OrtApi, called with NULL for each argument that must not be NULL, answers with an error that names
the argument; functions that release accept NULL. Nothing crashes."""
import os
import pathlib
import re
import subprocess
import sys

import onnx.parser
import pytest

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
MODEL = """<ir_version: 9, opset_import: ["" : 18]> g (float[1] x) => (float[1] y) { y = Neg(x) }"""
# NULL is an answer here: it asks for the default, takes back what was set, or asks for a size only.
ALLOWED = {
    ("CreateStatus", "msg"), ("CreateEnvWithCustomLogger", "logging_function"), ("RunOptionsSetRunTag", "run_tag"),
    ("CreateEnvWithGlobalThreadPools", "tp_options"), ("CreateEnvWithCustomLoggerAndGlobalThreadPools", "tp_options"),
    ("CreateSession", "options"), ("CreateSessionFromArray", "options"),
    ("CreateSessionWithPrepackedWeightsContainer", "options"),
    ("CreateSessionFromArrayWithPrepackedWeightsContainer", "options"), ("RunWithBinding", "run_options"),
    ("CreateAndRegisterAllocator", "arena_cfg"), ("CreateAndRegisterAllocatorV2", "arena_cfg"),
    ("SessionOptionsSetCustomCreateThreadFn", "ort_custom_create_thread_fn"),
    ("SessionOptionsSetCustomThreadCreationOptions", "ort_custom_thread_creation_options"),
    ("SessionOptionsSetCustomJoinThreadFn", "ort_custom_join_thread_fn"),
    ("SetGlobalCustomCreateThreadFn", "ort_custom_create_thread_fn"),
    ("SetGlobalCustomThreadCreationOptions", "ort_custom_thread_creation_options"),
    ("SetGlobalCustomJoinThreadFn", "ort_custom_join_thread_fn"),
    ("SetUserLoggingFunction", "user_logging_function"), ("CreateLoraAdapter", "allocator"),
    ("CreateLoraAdapterFromArray", "allocator"), ("GetSessionConfigEntry", "config_value"),
    ("ReleaseAvailableProviders", "ptr"),
    # As in ONNX Runtime (docs/abi_differences.md).
    ("CreateEnv", "logid"), ("CreateEnvWithCustomLogger", "logid"), ("CreateEnvWithGlobalThreadPools", "logid"),
    ("CreateEnvWithCustomLoggerAndGlobalThreadPools", "logid"), ("EnableTelemetryEvents", "env"),
    ("DisableTelemetryEvents", "env"), ("SetLanguageProjection", "ort_env"), ("UpdateEnvWithCustomLogLevel", "ort_env"),
    ("CreateTensorWithDataAsOrtValue", "p_data"), ("CreateTensorWithDataAndDeleterAsOrtValue", "p_data"),
    ("CreateSparseTensorWithValuesAsOrtValue", "p_data"), ("EnableOrtCustomOps", "options"),
    ("CreateSessionWithPrepackedWeightsContainer", "prepacked_weights_container"),
    ("CreateSessionFromArrayWithPrepackedWeightsContainer", "prepacked_weights_container"),
    ("SessionOptionsSetEpSelectionPolicyDelegate", "delegate"),
}
# Not looked at, because the objects of the program leave nothing to write, or another argument is wrong before.
NOT_REACHED = {
    ("GetStringTensorContent", "s"), ("GetStringTensorElement", "s"),
    ("ModelMetadataLookupCustomMetadataMap", "allocator"), ("ModelMetadataGetCustomMetadataMapKeys", "allocator"),
    ("GetBoundOutputNames", "allocator"), ("GetBoundOutputValues", "allocator"),
    ("SessionGetOverridableInitializerTypeInfo", "type_info"), ("SessionGetOverridableInitializerName", "allocator"),
    ("GetExecutionProviderApi", "provider_api"), ("SessionOptionsAppendExecutionProvider_V2", "session_options"),
    ("SessionGetEpDeviceForInputs", "inputs_ep_devices"), ("SessionGetEpDeviceForOutputs", "outputs_ep_devices"),
    ("CreateOpAttr", "data"), ("GetCompatibilityInfoFromModel", "ep_type"),
    ("GetCompatibilityInfoFromModel", "allocator"), ("GetCompatibilityInfoFromModelBytes", "ep_type"),
    ("GetCompatibilityInfoFromModelBytes", "allocator"), ("Session_GetEpGraphAssignmentInfo", "ep_subgraphs"),
    ("Session_GetEpGraphAssignmentInfo", "num_ep_subgraphs"),
}
# Functions of providers that are no part of this library: they refuse whatever the arguments are.
REFUSED = re.compile(r"SessionOptionsAppendExecutionProvider_(?!V2$)|ProviderOptions|CurrentGpuDeviceId")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="expected fork")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    model = tmp_path_factory.mktemp("null") / "model.onnx"
    model.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    done = subprocess.run([BUILD / "bin/capi_null_arguments", model], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-1000:]
    return [line.split() for line in done.stdout.splitlines()], done.stderr


def test_all_arguments_are_tried(answers):
    rows, _ = answers
    assert len(rows) > 800
    assert len({function for function, _, _ in rows}) > 390


def test_nothing_crashes(answers):
    rows, said = answers
    assert [(function, argument) for function, argument, answer in rows if answer == "crash"] == [], said[-2000:]


def test_the_error_names_the_argument(answers):
    rows, said = answers
    wrong = [(function, argument, answer) for function, argument, answer in rows
             if answer in ("success", "other") and not REFUSED.search(function)
             and (function, argument) not in ALLOWED | NOT_REACHED]
    assert wrong == [], said[-3000:]
