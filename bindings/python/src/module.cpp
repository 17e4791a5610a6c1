// bindings/python/src/module.cpp - the extension module sardonyx._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "interrupt.h"
#include "options.h"
#include "session.h"

namespace sardonyx::python {
namespace {

OrtRunOptions* Optional(const PyRunOptions* options) { return options != nullptr ? options->get() : nullptr; }

nb::object Metadata(const Session& session) {
  OrtModelMetadata* made = nullptr;
  Check(Ort().SessionGetModelMetadata(session.get(), &made));
  const ModelMetadataPtr metadata(made);
  nb::dict result;
  const auto text = [&](const char* key, auto getter) {
    char* value = nullptr;
    Check(getter(made, DefaultAllocator(), &value));
    result[key] = Shown(TakeText(value));
  };
  text("producer_name", Ort().ModelMetadataGetProducerName);
  text("graph_name", Ort().ModelMetadataGetGraphName);
  text("domain", Ort().ModelMetadataGetDomain);
  text("description", Ort().ModelMetadataGetDescription);
  text("graph_description", Ort().ModelMetadataGetGraphDescription);
  std::int64_t version = 0, count = 0;
  Check(Ort().ModelMetadataGetVersion(made, &version));
  result["version"] = version;
  char** keys = nullptr;
  Check(Ort().ModelMetadataGetCustomMetadataMapKeys(made, DefaultAllocator(), &keys, &count));
  nb::dict custom;
  for (std::int64_t i = 0; i < count; ++i) {
    char* value = nullptr;
    Check(Ort().ModelMetadataLookupCustomMetadataMap(made, DefaultAllocator(), keys[i], &value));
    custom[Shown(keys[i])] = Shown(value != nullptr ? TakeText(value) : std::string());
    Check(Ort().AllocatorFree(DefaultAllocator(), keys[i]));
  }
  if (keys != nullptr) Check(Ort().AllocatorFree(DefaultAllocator(), keys));
  result["custom_metadata_map"] = custom;
  return result;
}

std::vector<std::string> AvailableProviders() {
  char** names = nullptr;
  int count = 0;
  Check(Ort().GetAvailableProviders(&names, &count));
  std::vector<std::string> result(names, names + count);
  Check(Ort().ReleaseAvailableProviders(names, count));
  return result;
}

void AddSession(nb::module_& module) {
  nb::class_<NodeArg>(module, "NodeArg")
      .def_prop_ro("name", [](const NodeArg& arg) { return ShownName(arg.name); })
      .def_ro("type", &NodeArg::type)
      .def_ro("shape", &NodeArg::shape)
      .def("__str__", [](const NodeArg& arg) {
        return Shown("NodeArg(name='" + arg.name + "', type='" + arg.type +
                     "', shape=" + nb::cast<std::string>(nb::str(arg.shape)) + ")");
      });
  nb::class_<Session>(module, "Session")
      .def("__init__", [](Session* at, const nb::object& model,
                          const PySessionOptions& options) { new (at) Session(model, options.get()); })
      .def("close", &Session::Close)
      .def_prop_ro("inputs", &Session::inputs)
      .def_prop_ro("outputs", &Session::outputs)
      .def_prop_ro("overridable_initializers", &Session::overridable_initializers)
      .def("metadata", &Metadata)
      .def(
          "run",
          [](const Session& s, const nb::list& names, const nb::dict& feed, const PyRunOptions* options) {
            return s.Run(names, feed, Optional(options));
          },
          nb::arg("names"), nb::arg("feed"), nb::arg("options").none())
      .def(
          "run_with_values",
          [](const Session& s, const nb::list& names, const nb::dict& feed, const PyRunOptions* options) {
            return s.RunWithValues(names, feed, Optional(options));
          },
          nb::arg("names"), nb::arg("feed"), nb::arg("options").none())
      .def(
          "check_values",
          [](const Session& s, const nb::dict& feed, const PyRunOptions* options) {
            return Shown(s.CheckValues(feed, Optional(options)));
          },
          nb::arg("feed"), nb::arg("options").none())
      .def("providers",
           [](const Session& s) {
             char* json = nullptr;
             Check(Own().SessionProviders(s.get(), DefaultAllocator(), &json));
             return Shown(TakeText(json));
           })
      .def("plan",
           [](const Session& s) {
             char* json = nullptr;
             Check(Own().SessionPlan(s.get(), DefaultAllocator(), &json));
             return Shown(TakeText(json));
           })
      .def("end_profiling",
           [](const Session& s) {
             char* file = nullptr;
             Check(Ort().SessionEndProfiling(s.get(), DefaultAllocator(), &file));
             return nb::module_::import_("os").attr("fsdecode")(nb::bytes(TakeText(file).c_str()));
           })
      .def("profiling_start_time_ns",
           [](const Session& s) {
             std::uint64_t time = 0;
             Check(Ort().SessionGetProfilingStartTimeNs(s.get(), &time));
             return time;
           })
      .def("release_captured_graph",
           [](const Session& s, int id) { Check(Ort().SessionReleaseCapturedGraph(s.get(), id)); })
      .def("trim",
           [](const Session& s) {
             const nb::gil_scoped_release release;
             Check(Own().SessionTrim(s.get()));
           })
      .def("placement", [](const Session& s) {
        char* json = nullptr;
        Check(Own().SessionPlacement(s.get(), DefaultAllocator(), &json));
        return Shown(TakeText(json));
      });
}

}  // namespace
}  // namespace sardonyx::python

NB_MODULE(_core, module) {
  using namespace sardonyx::python;
  { const InterruptGuard main_thread(nullptr); }  // stores which thread is Python's main thread
  AddExceptions(module);
  AddSessionOptions(module);
  AddRunOptions(module);
  AddAdapters(module);
  AddValues(module);
  AddBinding(module);
  AddSession(module);
  AddDevices(module);
  AddCompile(module);
  AddModel(module);
  AddHistogram(module);
  module.def("available_providers", &AvailableProviders);
  module.def("version_string", [] { return std::string(OrtGetApiBase()->GetVersionString()); });
  module.def("own_version_string", [] { return std::string(Own().GetVersionString()); });
  module.def("build_info", [] { return std::string(Ort().GetBuildInfoString()); });
  module.def("operators_json", [] {
    char* json = nullptr;
    Check(Own().OperatorsJson(DefaultAllocator(), &json));
    return TakeText(json);
  });
  module.def("set_global_thread_pool_sizes", &SetGlobalThreads);
  module.def("set_log_level", &SetLogLevel);
}
