// bindings/python/src/options.cpp - SessionOptions and RunOptions: the setters of the C interface.
#include "options.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <stdexcept>

namespace sardonyx::python {

PySessionOptions::PySessionOptions() {
  OrtSessionOptions* made = nullptr;
  Check(Ort().CreateSessionOptions(&made));
  options_.reset(made);
}

PyRunOptions::PyRunOptions() {
  OrtRunOptions* made = nullptr;
  Check(Ort().CreateRunOptions(&made));
  options_.reset(made);
}

namespace {

// The buffers must live until a session is created from the options, so the options keep them.
void AddFilesInMemory(PySessionOptions& options, const std::vector<std::string>& names, const nb::list& buffers) {
  std::vector<const char*> files;
  std::vector<char*> starts;
  std::vector<std::size_t> sizes;
  for (const nb::handle buffer : buffers) {
    options.Keep(nb::borrow(buffer));
    const auto bytes = nb::cast<nb::bytes>(buffer);
    starts.push_back(const_cast<char*>(static_cast<const char*>(bytes.data())));
    sizes.push_back(bytes.size());
  }
  for (const std::string& name : names) files.push_back(name.c_str());
  Check(Ort().AddExternalInitializersFromFilesInMemory(options.get(), files.data(), starts.data(), sizes.data(),
                                                       files.size()));
}

// Asks the caller's Python function, which gets handles of devices and gives some of them, for a session's devices.
OrtStatus* ORT_API_CALL SelectInPython(const OrtEpDevice** devices, std::size_t count, const OrtKeyValuePairs* of_model,
                                       const OrtKeyValuePairs* of_runtime, const OrtEpDevice** selected,
                                       std::size_t max_selected, std::size_t* selected_count, void* function) {
  const nb::gil_scoped_acquire acquire;
  try {
    std::vector<PyEpDevice> offered;
    for (std::size_t i = 0; i < count; ++i) offered.push_back({devices[i]});
    const nb::object chosen =
        nb::handle(static_cast<PyObject*>(function))(offered, Pairs(of_model), Pairs(of_runtime), max_selected);
    const auto handles = nb::cast<std::vector<const PyEpDevice*>>(chosen);
    if (handles.size() > max_selected) throw std::runtime_error("it chose more devices than there is room for");
    for (std::size_t i = 0; i < handles.size(); ++i) selected[i] = handles[i]->device;
    *selected_count = handles.size();
    return nullptr;
  } catch (const std::exception& error) {
    return Ort().CreateStatus(ORT_FAIL, error.what());
  }
}

}  // namespace

void AddSessionOptions(nb::module_& module) {
  // Names and defaults are those of ONNX Runtime. The properties in sardonyx/options.py call these setters.
  nb::class_<PySessionOptions>(module, "SessionOptionsHandle")
      .def(nb::init<>())
      .def("set_execution_mode",
           [](PySessionOptions& o, int mode) {
             Check(Ort().SetSessionExecutionMode(o.get(), static_cast<ExecutionMode>(mode)));
           })
      .def("set_graph_optimization_level",
           [](PySessionOptions& o, int level) {
             Check(Ort().SetSessionGraphOptimizationLevel(o.get(), static_cast<GraphOptimizationLevel>(level)));
           })
      .def("set_intra_op_num_threads",
           [](PySessionOptions& o, int count) { Check(Ort().SetIntraOpNumThreads(o.get(), count)); })
      .def("set_inter_op_num_threads",
           [](PySessionOptions& o, int count) { Check(Ort().SetInterOpNumThreads(o.get(), count)); })
      .def("set_log_severity_level",
           [](PySessionOptions& o, int level) { Check(Ort().SetSessionLogSeverityLevel(o.get(), level)); })
      .def("set_log_verbosity_level",
           [](PySessionOptions& o, int level) { Check(Ort().SetSessionLogVerbosityLevel(o.get(), level)); })
      .def("set_logid",
           [](PySessionOptions& o, const std::string& id) { Check(Ort().SetSessionLogId(o.get(), id.c_str())); })
      .def("set_optimized_model_filepath",
           [](PySessionOptions& o, const std::string& path) {
             Check(Ort().SetOptimizedModelFilePath(o.get(), path.c_str()));
           })
      .def("set_enable_mem_pattern",
           [](PySessionOptions& o, bool on) {
             Check(on ? Ort().EnableMemPattern(o.get()) : Ort().DisableMemPattern(o.get()));
           })
      .def("set_enable_cpu_mem_arena",
           [](PySessionOptions& o, bool on) {
             Check(on ? Ort().EnableCpuMemArena(o.get()) : Ort().DisableCpuMemArena(o.get()));
           })
      .def("set_enable_profiling",
           [](PySessionOptions& o, bool on, const std::string& prefix) {
             Check(on ? Ort().EnableProfiling(o.get(), prefix.c_str()) : Ort().DisableProfiling(o.get()));
           })
      .def("set_use_deterministic_compute",
           [](PySessionOptions& o, bool on) { Check(Ort().SetDeterministicCompute(o.get(), on)); })
      .def("set_use_per_session_threads",
           [](PySessionOptions& o, bool on) {
             if (!on) Check(Ort().DisablePerSessionThreads(o.get()));
           })
      .def(
          "set_load_cancellation_flag",
          [](PySessionOptions& o, bool cancel) { Check(Ort().SessionOptionsSetLoadCancellationFlag(o.get(), cancel)); })
      .def("add_session_config_entry",
           [](PySessionOptions& o, const std::string& key, const std::string& value) {
             CheckPlainly(Ort().AddSessionConfigEntry(o.get(), key.c_str(), value.c_str()));
           })
      .def("add_free_dimension_override_by_name",
           [](PySessionOptions& o, const std::string& name, std::int64_t size) {
             Check(Ort().AddFreeDimensionOverrideByName(o.get(), name.c_str(), size));
           })
      .def("add_free_dimension_override_by_denotation",
           [](PySessionOptions& o, const std::string& name, std::int64_t size) {
             Check(Ort().AddFreeDimensionOverride(o.get(), name.c_str(), size));
           })
      .def("add_initializer",
           [](PySessionOptions& o, const std::string& name, const nb::object& value) {
             o.Keep(value);
             CheckPlainly(Ort().AddInitializer(o.get(), name.c_str(), nb::cast<const PyValue&>(value).get()));
           })
      .def("fix_input",
           [](PySessionOptions& o, const std::string& name, const nb::object& value) {
             Check(Own().FixInput(o.get(), name.c_str(), nb::cast<const PyValue&>(value).get()));
           })
      .def("add_external_initializers",
           [](PySessionOptions& o, const nb::list& names, const nb::list& values) {
             if (names.size() != values.size())
               throw std::runtime_error("initializers: expected a value for each name, found " +
                                        std::to_string(names.size()) + " names and " + std::to_string(values.size()) +
                                        " values");
             std::vector<std::string> texts;
             std::vector<const char*> pointers;
             std::vector<const OrtValue*> tensors;
             for (const nb::handle name : names) texts.push_back(nb::cast<std::string>(name));
             for (const std::string& text : texts) pointers.push_back(text.c_str());
             for (const nb::handle value : values) {
               o.Keep(nb::borrow(value));
               tensors.push_back(nb::cast<const PyValue&>(value).get());
             }
             Check(Ort().AddExternalInitializers(o.get(), pointers.data(), tensors.data(), pointers.size()));
           })
      .def("append_provider",
           [](PySessionOptions& o, const std::string& name, const std::map<std::string, std::string>& entries) {
             std::vector<const char*> keys, values;
             for (const auto& [key, value] : entries) {
               keys.push_back(key.c_str());
               values.push_back(value.c_str());
             }
             Check(Ort().SessionOptionsAppendExecutionProvider(o.get(), name.c_str(), keys.data(), values.data(),
                                                               keys.size()));
           })
      .def("append_provider_or_missing",
           [](PySessionOptions& o, const std::string& name, const std::map<std::string, std::string>& entries,
              const std::string& missing) {
             std::vector<const char*> keys, values;
             for (const auto& [key, value] : entries) {
               keys.push_back(key.c_str());
               values.push_back(value.c_str());
             }
             Check(Own().AppendProvider(o.get(), name.c_str(), keys.data(), values.data(), keys.size(),
                                        missing.empty() ? nullptr : missing.c_str()));
           })
      .def("add_external_initializers_from_files_in_memory", &AddFilesInMemory)
      .def("add_provider_for_devices",
           [](PySessionOptions& o, const std::vector<const PyEpDevice*>& devices,
              const std::map<std::string, std::string>& entries) {
             std::vector<const OrtEpDevice*> handles;
             std::vector<const char*> keys, values;
             for (const PyEpDevice* device : devices) handles.push_back(device->device);
             for (const auto& [key, value] : entries) {
               keys.push_back(key.c_str());
               values.push_back(value.c_str());
             }
             Check(Ort().SessionOptionsAppendExecutionProvider_V2(
                 o.get(), Environment(), handles.data(), handles.size(), keys.data(), values.data(), keys.size()));
           })
      .def("set_provider_selection_policy",
           [](PySessionOptions& o, int policy) {
             Check(Ort().SessionOptionsSetEpSelectionPolicy(o.get(),
                                                            static_cast<OrtExecutionProviderDevicePolicy>(policy)));
           })
      .def("set_provider_selection_policy_delegate",
           [](PySessionOptions& o, const nb::object& function) {
             o.Keep(function);
             Check(Ort().SessionOptionsSetEpSelectionPolicyDelegate(o.get(), SelectInPython, function.ptr()));
           })
      .def("set_ep_context_data_read_func", &SetDataReader, nb::arg().none())
      .def("register_custom_ops_library", [](PySessionOptions& o, const std::string& path) {
        Check(Ort().RegisterCustomOpsLibrary_V2(o.get(), path.c_str()));
      });
}

void AddRunOptions(nb::module_& module) {
  nb::class_<PyRunOptions>(module, "RunOptionsHandle")
      .def(nb::init<>())
      .def("set_log_severity_level",
           [](PyRunOptions& o, int level) { Check(Ort().RunOptionsSetRunLogSeverityLevel(o.get(), level)); })
      .def("set_log_verbosity_level",
           [](PyRunOptions& o, int level) { Check(Ort().RunOptionsSetRunLogVerbosityLevel(o.get(), level)); })
      .def("set_tag",
           [](PyRunOptions& o, const std::string& tag) { Check(Ort().RunOptionsSetRunTag(o.get(), tag.c_str())); })
      .def("set_terminate",
           [](PyRunOptions& o, bool on) {
             Check(on ? Ort().RunOptionsSetTerminate(o.get()) : Ort().RunOptionsUnsetTerminate(o.get()));
           })
      .def("set_enable_profiling",
           [](PyRunOptions& o, bool on, const std::string& prefix) {
             Check(on ? Ort().RunOptionsEnableProfiling(o.get(), prefix.c_str())
                      : Ort().RunOptionsDisableProfiling(o.get()));
           })
      .def("add_active_adapter",
           [](PyRunOptions& o, const PyLoraAdapter& adapter) {
             Check(Ort().RunOptionsAddActiveLoraAdapter(o.get(), adapter.get()));
           })
      .def("add_run_config_entry", [](PyRunOptions& o, const std::string& key, const std::string& value) {
        CheckPlainly(Ort().AddRunConfigEntry(o.get(), key.c_str(), value.c_str()));
      });
}

}  // namespace sardonyx::python
