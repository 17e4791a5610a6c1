// tests/capi/answers/packages.cpp - model packages, made by hand: what is read from them, which paths they may name,
// which variant is selected, and sessions of it.
#include <filesystem>
#include <fstream>
#include <map>

#include "answers.h"

namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

const OrtModelPackageApi* packages = nullptr;

fs::path Root() { return fs::path(model_folder) / "packages"; }

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A package of these files; a text that ends in '/' makes a folder, "@model" a copy of the model.
fs::path Make(const std::string& name, const std::string& manifest, const Files& files = {}) {
  const fs::path root = Root() / name;
  fs::remove_all(root);
  fs::create_directories(root);
  if (!manifest.empty()) Write(root / "manifest.json", manifest);
  for (const auto& [path, text] : files) {
    if (path.back() == '/') {
      fs::create_directories(root / path);
    } else if (text == "@model") {
      fs::create_directories((root / path).parent_path());
      fs::copy_file(ModelPath("required.onnx"), root / path);
    } else {
      Write(root / path, text);
    }
  }
  return root;
}

std::string Shown(const char* path) {
  if (path == nullptr) return "NULL";
  const std::string text = path, root = Root().string();
  return text.starts_with(root) ? "ROOT" + text.substr(root.size()) : text;
}

OrtModelPackageContext* Context(const std::string& name) {
  OrtModelPackageContext* context = nullptr;
  Answer(("open " + name).c_str(), packages->CreateModelPackageContext((Root() / name).c_str(), &context));
  return context;
}

// All that is asked of a package without selecting anything.
void Describe(const std::string& name, const std::string& manifest, const Files& files = {}) {
  Make(name, manifest, files);
  OrtModelPackageContext* context = Context(name);
  if (context == nullptr) return;
  std::int64_t version = -1;
  Answer("  schema", packages->ModelPackage_GetSchemaVersion(context, &version));
  std::size_t count = 0, variant_count = 0;
  Answer("  count", packages->ModelPackage_GetComponentCount(context, &count));
  const char* const* names = nullptr;
  std::size_t name_count = 99;
  Answer("  names", packages->ModelPackage_GetComponentNames(context, &names, &name_count));
  Say("  schema %lld, %zu components, %zu names%s", static_cast<long long>(version), count, name_count,
      names == nullptr ? ", NULL" : "");
  for (std::size_t i = 0; i < name_count; ++i) {
    const char* const* variants = nullptr;
    std::size_t variant_names = 99;
    Answer("    variants", packages->ModelPackage_GetVariantCount(context, names[i], &variant_count));
    Answer("    names", packages->ModelPackage_GetVariantNames(context, names[i], &variants, &variant_names));
    Say("    '%s': %zu variants, %zu names%s", names[i], variant_count, variant_names,
        variants == nullptr ? ", NULL" : "");
    for (std::size_t j = 0; j < variant_names; ++j) {
      const char* ep = "untouched";
      Answer("      ep", packages->ModelPackage_GetVariantEpName(context, names[i], variants[j], &ep));
      Say("      '%s' of %s", variants[j], ep == nullptr ? "NULL" : ep);
    }
  }
  packages->ReleaseModelPackageContext(context);
}

std::string Manifest(const std::string& components, const std::string& more = "", const char* version = "\"1.0\"") {
  return std::string("{\"schema_version\": ") + version + more + ", \"components\": " + components + "}";
}

constexpr const char* kOne = R"({"part": {"variants": {"first": {"ep": "CPUExecutionProvider"}}}})";
const Files kFirst = {{"first/", ""}};

void Schemas() {
  Describe("none", "");
  Describe("no json", "nonsense");
  Describe("a list", "[1]");
  Describe("empty", "{}");
  int number = 0;
  for (const char* version : {"\"1.0\"",
                              "\"1.7\"",
                              "\"1\"",
                              "1",
                              "1.0",
                              "\"2.0\"",
                              "2",
                              "\"0.9\"",
                              "0",
                              "true",
                              "null",
                              "\"\"",
                              "\"1.\"",
                              "\".1\"",
                              "\"1.0.0\"",
                              "\"01.0\"",
                              "\" 1.0\"",
                              "\"-1.0\"",
                              "-1",
                              "\"1.x\"",
                              "99999999999999999999",
                              "\"1.99999999999999999999\""})
    Describe("version " + std::to_string(number++), Manifest(kOne, "", version), kFirst);
  Describe("unknown key", Manifest(kOne, R"(, "nonsense": 1)"), kFirst);
  Describe("unknown key of a newer minor", Manifest(kOne, R"(, "nonsense": 1)", "\"1.7\""), kFirst);
  Describe("names", Manifest(kOne, R"(, "package_name": "p", "package_version": "2", "description": "d",
      "additional_metadata": {"a": [1]})"),
           kFirst);
  Describe("name of another type", Manifest(kOne, R"(, "package_name": 3)"), kFirst);
  Describe("description of another type", Manifest(kOne, R"(, "description": 3)"), kFirst);
  Describe("layout portable", Manifest(kOne, R"(, "layout": "portable")"), kFirst);
  Describe("layout installed", Manifest(kOne, R"(, "layout": "installed")"), kFirst);
  Describe("layout other", Manifest(kOne, R"(, "layout": "other")"), kFirst);
  Describe("layout number", Manifest(kOne, R"(, "layout": 1)"), kFirst);
  Describe("comments", "// a comment\n" + Manifest(kOne), kFirst);
  Describe("twice", Manifest(R"({"a": {"variants": {}}, "a": {"variants": {"v": {}}}})"), {{"v/", ""}});
  Describe("mark of byte order", "\xEF\xBB\xBF" + Manifest(kOne), kFirst);
}

void Components() {
  Describe("no components", Manifest("{}"));
  Describe("components list", Manifest("[]"));
  Describe("components null", Manifest("null"));
  Describe("component number", Manifest(R"({"part": 1})"));
  Describe("component null", Manifest(R"({"part": null})"));
  Describe("component without variants", Manifest(R"({"part": {}})"));
  Describe("no variants", Manifest(R"({"part": {"variants": {}}})"));
  Describe("variants list", Manifest(R"({"part": {"variants": []}})"));
  Describe("variant number", Manifest(R"({"part": {"variants": {"first": 1}}})"), kFirst);
  Describe("component unknown key", Manifest(R"({"part": {"variants": {}, "nonsense": 1}})"));
  Describe("component name", Manifest(R"({"part": {"component_name": "other", "variants": {}}})"));
  Describe("component name number", Manifest(R"({"part": {"component_name": 3, "variants": {}}})"));
  Describe("component empty name", Manifest(R"({"": {"variants": {}}})"));
  Describe("component metadata", Manifest(R"({"part": {"additional_metadata": 3, "variants": {}}})"));
  Describe("order", Manifest(R"({"z": {"variants": {"b": {}, "a": {}}}, "a": {"variants": {}}})"),
           {{"a/", ""}, {"b/", ""}});
  const std::string body = R"({"variants": {"first": {"ep": "E"}}})";
  Describe("external folder", Manifest(R"({"part": "there"})"), {{"there/component.json", body}, {"there/first/", ""}});
  Describe("external file", Manifest(R"({"part": "there/x.json"})"), {{"there/x.json", body}, {"there/first/", ""}});
  Describe("external missing", Manifest(R"({"part": "there"})"));
  Describe("external folder without file", Manifest(R"({"part": "there"})"), {{"there/", ""}});
  Describe("external no json", Manifest(R"({"part": "there"})"), {{"there/component.json", "nonsense"}});
  Describe("external list", Manifest(R"({"part": "there"})"), {{"there/component.json", "[]"}});
  Describe("external empty", Manifest(R"({"part": ""})"), {{"component.json", body}, {"first/", ""}});
  Describe("external dot", Manifest(R"({"part": "."})"), {{"component.json", body}, {"first/", ""}});
  Describe("external up", Manifest(R"({"part": "../outside"})"));
  Make("outside", "", {{"component.json", body}, {"first/", ""}});
  Describe("external up there", Manifest(R"({"part": "../outside"})"));
  Describe("external up installed", Manifest(R"({"part": "../outside"})", R"(, "layout": "installed")"));
  Describe("external down and up", Manifest(R"({"part": "there/../there"})"),
           {{"there/component.json", body}, {"there/first/", ""}});
  const std::string absolute = (Root() / "outside").string();
  Describe("external absolute", Manifest("{\"part\": \"" + absolute + "\"}"));
  Describe("external absolute installed", Manifest("{\"part\": \"" + absolute + "\"}", R"(, "layout": "installed")"));
}

void Variants() {
  const auto with = [](const std::string& variant) {
    return Manifest(R"({"part": {"variants": {"first": )" + variant + "}}}");
  };
  Describe("no folder", with("{}"));
  Describe("folder", with("{}"), kFirst);
  Describe("folder is a file", with("{}"), {{"first", "text"}});
  Describe("folder named", with(R"({"variant_directory": "there"})"), {{"there/", ""}});
  Describe("folder named missing", with(R"({"variant_directory": "there"})"));
  Describe("folder named file", with(R"({"variant_directory": "there"})"), {{"there", "text"}});
  Describe("folder number", with(R"({"variant_directory": 1})"), kFirst);
  Describe("folder null", with(R"({"variant_directory": null})"), kFirst);
  Describe("folder empty", with(R"({"variant_directory": ""})"), kFirst);
  Describe("folder up", with(R"({"variant_directory": "../outside"})"));
  Describe("folder absolute", with("{\"variant_directory\": \"" + (Root() / "outside").string() + "\"}"));
  Describe("folder nested", with(R"({"variant_directory": "a/b"})"), {{"a/b/", ""}});
  Describe("name up", Manifest(R"({"part": {"variants": {"../outside": {}}}})"));
  Describe("name with a slash", Manifest(R"({"part": {"variants": {"a/b": {}}}})"), {{"a/b/", ""}});
  Describe("empty name", Manifest(R"({"part": {"variants": {"": {}}}})"));
  Describe("ep number", with(R"({"ep": 1})"), kFirst);
  Describe("ep null", with(R"({"ep": null})"), kFirst);
  Describe("ep empty", with(R"({"ep": ""})"), kFirst);
  Describe("device", with(R"({"ep": "E", "device": "cpu", "compatibility_string": "c"})"), kFirst);
  Describe("device other", with(R"({"ep": "E", "device": "nonsense"})"), kFirst);
  Describe("device upper", with(R"({"ep": "E", "device": "CPU"})"), kFirst);
  Describe("device number", with(R"({"ep": "E", "device": 1})"), kFirst);
  Describe("compatibility number", with(R"({"ep": "E", "compatibility_string": 1})"), kFirst);
  Describe("variant unknown key", with(R"({"ep": "E", "nonsense": 1})"), kFirst);
  Describe("variant metadata", with(R"({"ep": "E", "additional_metadata": {"a": 1}})"), kFirst);
  Describe("variant metadata number", with(R"({"ep": "E", "additional_metadata": 1})"), kFirst);
  const auto info = [&](const std::string& text, const Files& files = kFirst) {
    Describe("info " + text, with(R"({"ep": "E", "executor_info": )" + text + "}"), files);
  };
  info("1");
  info("null");
  info("{}");
  info(R"({"ort": 1})");
  info(R"({"other": 1})");
  info(R"({"other": {"x": 1}})");
  info(R"({"other": "x.json"})");
  info(R"({"other": "x.json"})", {{"first/x.json", "{}"}});
  info(R"({"ort": {}})");
  info(R"({"ort": {"nonsense": 1}})");
  info(R"({"ort": {"model_file": 1}})");
  info(R"({"ort": {"model_file": "none.onnx"}})");
  info(R"({"ort": {"model_file": ""}})");
  info(R"({"ort": {"model_file": "../outside/component.json"}})");
  info(R"({"ort": {"session_options": 1}})");
  info(R"({"ort": {"session_options": {"a": 1}}})");
  info(R"({"ort": {"session_options": {"a": "1"}}})");
  for (const char* key : {"session.enable_profiling", "session.optimized_model_filepath", "session.log_id",
                          "session.debug_layout_transformation", "session.collect_node_memory_stats_to_file", ""})
    info(std::string("{\"ort\": {\"session_options\": {\"") + key + "\": \"x\"}}}");
  info(R"({"ort": {"model_file": "m.onnx"}})", {});
  info(R"({"ort": "x.json"})", {});
  info(R"({"ort": {"session_options": {"a\u0000b": "1"}}})");
  info(R"({"ort": {"session_options": {"a": "1\u00002"}}})");
  info(R"({"ort": {"model_file": "m\u0000.onnx"}})");
  info(R"({"ort": {"provider_options": []}})");
  info(R"({"ort": {"provider_options": {"a": 1}}})");
  info(R"({"ort": {"session_options": {"ep.context_file_path": "none.onnx"}}})");
  info(R"({"ort": {"session_options": {"ep.context_file_path": "../up.onnx"}}})");
  info(R"({"ort": {"session_options": {"session.model_external_initializers_file_folder_path": "none"}}})");
  info(R"({"ort": "x.json"})");
  info(R"({"ort": "x.json"})", {{"first/x.json", R"({"model_file": "m.onnx"})"}});
  info(R"({"ort": "x.json"})", {{"first/x.json", "[]"}});
  info(R"({"ort": "x.json"})", {{"first/x.json", "nonsense"}});
  info(R"({"ort": "../x.json"})", {{"x.json", "{}"}, {"first/", ""}});
  info(R"({"ort": "../../outside/component.json"})");
  info(R"({"ort": "x.json"})", {{"first/x.json", "\"text\""}});
}

void Assets() {
  const std::string hex(64, 'a'), other(64, 'B');
  const auto with = [&](const std::string& assets, const Files& files = kFirst) {
    Describe("assets " + assets, Manifest(kOne, ", \"shared_assets\": " + assets), files);
  };
  with("1");
  with("{}");
  with("{\"nonsense\": \"x\"}");
  with("{\"sha256:12\": \"x\"}");
  with("{\"sha256:" + hex + "\": 1}");
  with("{\"sha256:" + hex + "\": \"missing\"}");
  with("{\"sha256:" + other + "\": \"there\"}", {{"first/", ""}, {"there/", ""}});
  with("{\"sha256:" + hex + "\": \"there\"}", {{"first/", ""}, {"there/", ""}});
  with("{\"sha256:" + hex + "\": \"../outside\"}");
}

void Resolve(const std::string& name) {
  OrtModelPackageContext* context = Context(name);
  if (context == nullptr) return;
  const std::string hex(64, 'a'), root = (Root() / name).string();
  const std::string outside = (Root() / "outside").string(), first = root + "/first";
  const char* const bases[] = {nullptr, "", "first", first.c_str(), "missing", outside.c_str(), ".."};
  const std::string inputs[] = {"x.txt",
                                "missing.txt",
                                "first/x.txt",
                                "./first//x.txt",
                                "",
                                ".",
                                "..",
                                "../x.txt",
                                "../outside/component.json",
                                "first/../first/x.txt",
                                root + "/x.txt",
                                outside + "/component.json",
                                "/",
                                "sha256:" + hex,
                                "sha256:" + hex + "/x.txt",
                                "sha256:" + hex + "/missing.txt",
                                "sha256:" + hex + "/../x.txt",
                                "sha256:" + hex + "//x.txt",
                                "sha256:" + hex + "/",
                                "sha256:" + std::string(64, 'c'),
                                "sha256:" + std::string(64, 'A'),
                                "sha256:1",
                                "sha256:",
                                "linked.txt",
                                "linked/",
                                "linked",
                                "linked/component.json"};
  for (const char* base : bases) {
    for (const std::string& input : inputs) {
      for (const int must_exist : {0, 1}) {
        const char* path = "untouched";
        const std::string call = "  " + Shown(base) + " + " + Shown(input.c_str()) + (must_exist ? " must" : "");
        Answer(call.c_str(), packages->ModelPackage_ResolveStringRef(context, base, input.c_str(), must_exist, &path));
        Say("    %s", Shown(path).c_str());
      }
    }
  }
  packages->ReleaseModelPackageContext(context);
}

void Paths() {
  const std::string hex(64, 'a');
  for (const std::string layout : {"portable", "installed"}) {
    const Files files = {{"first/x.txt", "1"}, {"x.txt", "2"}, {"shared_assets/sha256-" + hex + "/x.txt", "3"}};
    const fs::path root = Make(layout, Manifest(kOne, ", \"layout\": \"" + layout + "\""), files);
    fs::create_symlink(root / "x.txt", root / "linked.txt");
    fs::create_directory_symlink(Root() / "outside", root / "linked");
    Resolve(layout);
  }
}

OrtModelPackageOptions* OptionsFor(bool with_cpu) {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  if (with_cpu) {
    const OrtEpDevice* const* devices = nullptr;
    std::size_t count = 0;
    Must(ort->GetEpDevices(env, &devices, &count));
    Must(ort->SessionOptionsAppendExecutionProvider_V2(options, env, devices, 1, nullptr, nullptr, 0));
  }
  OrtModelPackageOptions* made = nullptr;
  Answer(with_cpu ? "options with the CPU" : "options without a provider",
         packages->CreateModelPackageOptionsFromSessionOptions(env, options, &made));
  ort->ReleaseSessionOptions(options);
  return made;
}

void RunSession(OrtSession* session) {
  OrtMemoryInfo* host = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  float x[6] = {1, 2, 3, 4, 5, 6};
  const std::int64_t shape[2] = {2, 3};
  OrtValue *value = nullptr, *result = nullptr;
  Must(ort->CreateTensorWithDataAsOrtValue(host, x, sizeof(x), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  const char* const names[] = {"x", "a"};
  const char* const outputs[] = {"y"};
  const OrtValue* const values[] = {value, value};
  float* y = nullptr;
  if (Answer("    run", ort->Run(session, nullptr, names, values, 2, outputs, 1, &result)) == 0) {
    Must(ort->GetTensorMutableData(result, reinterpret_cast<void**>(&y)));
    Say("    y[5] = %g", y[5]);
  }
  ort->ReleaseValue(result);
  ort->ReleaseValue(value);
  ort->ReleaseMemoryInfo(host);
  ort->ReleaseSession(session);
}

void SessionWith(OrtModelPackageComponentContext* component, const char* what, OrtSessionOptions* options) {
  OrtSession* session = nullptr;
  Answer(what, packages->CreateSession(env, component, options, &session));
  if (session != nullptr) RunSession(session);
}

// Selects component "part" and makes sessions of it.
void Select(const std::string& name, const std::string& manifest, const Files& files, OrtModelPackageOptions* options) {
  Make(name, manifest, files);
  OrtModelPackageContext* context = Context(name);
  if (context == nullptr) return;
  OrtModelPackageComponentContext* component = nullptr;
  Answer("  select", packages->SelectComponent(context, "part", options, &component));
  packages->ReleaseModelPackageContext(context);  // the component needs it no longer
  if (component == nullptr) return;
  const char *variant = nullptr, *folder = nullptr;
  Answer("  variant", packages->ModelPackageComponent_GetSelectedVariantName(component, &variant));
  Answer("  folder", packages->ModelPackageComponent_GetSelectedVariantFolderPath(component, &folder));
  Say("  '%s' in %s", variant == nullptr ? "NULL" : variant, Shown(folder).c_str());
  SessionWith(component, "  session", nullptr);
  SessionWith(component, "  again", nullptr);
  OrtSessionOptions* own = nullptr;
  Must(ort->CreateSessionOptions(&own));
  SessionWith(component, "  with options", own);
  ort->ReleaseSessionOptions(own);
  packages->ReleaseModelPackageComponentContext(component);
}

std::string Variant(const std::string& more, const std::string& info = R"({"model_file": "m.onnx"})") {
  return R"({"variants": {"first": {)" + more + R"(, "executor_info": {"ort": )" + info + "}}}}";
}

void Selections() {
  OrtModelPackageOptions* options = OptionsFor(true);
  const std::string cpu = R"("ep": "CPUExecutionProvider")";
  const Files files = {{"first/m.onnx", "@model"}};
  const auto select = [&](const std::string& name, const std::string& part, const Files& with) {
    Select(name, Manifest("{\"part\": " + part + "}"), with, options);
  };
  select("plain", Variant(cpu), files);
  select("device cpu", Variant(cpu + R"(, "device": "cpu")"), files);
  select("device gpu", Variant(cpu + R"(, "device": "gpu")"), files);
  select("device nonsense", Variant(cpu + R"(, "device": "nonsense")"), files);
  select("device empty", Variant(cpu + R"(, "device": "")"), files);
  select("device CPU", Variant(cpu + R"(, "device": "CPU")"), files);
  select("compatible", Variant(cpu + R"(, "compatibility_string": "anything")"), files);
  select("other provider", Variant(R"("ep": "OtherExecutionProvider")"), files);
  select("lower case", Variant(R"("ep": "cpuexecutionprovider")"), files);
  select("no provider", R"({"variants": {"first": {"executor_info": {"ort": {"model_file": "m.onnx"}}}}})", files);
  select("none", R"({"variants": {}})", {});
  select("no info", "{\"variants\": {\"first\": {" + cpu + "}}}", files);
  select("no folder", Variant(cpu), {{"m.onnx", "@model"}});
  select("no file", Variant(cpu, "{}"), files);
  select("empty file", Variant(cpu, R"({"model_file": ""})"), files);
  select("missing file", Variant(cpu, R"({"model_file": "none.onnx"})"), files);
  select("folder as file", Variant(cpu, R"({"model_file": "."})"), files);
  select("bad model", Variant(cpu), {{"first/m.onnx", "nonsense"}});
  select("session options", Variant(cpu, R"({"model_file": "m.onnx", "session_options":
      {"session.intra_op_num_threads": "1", "nonsense.key": "x"}})"),
         files);
  select("bad session option", Variant(cpu, R"({"model_file": "m.onnx", "session_options":
      {"session.disable_prepacking": "nonsense"}})"),
         files);
  select("provider options", Variant(cpu, R"({"model_file": "m.onnx", "provider_options": {"a": "b"}})"), files);
  select("no provider options", Variant(cpu, R"({"model_file": "m.onnx", "provider_options": {}})"), files);
  select("two",
         "{\"variants\": {\"second\": {" + cpu + R"(, "variant_directory": "first", "executor_info":
      {"ort": {"model_file": "m.onnx"}}}, "first": {)" +
             cpu + "}}}",
         files);
  select(
      "second fits",
      R"({"variants": {"other": {"ep": "Other"}, "first": {)" + cpu + R"(, "executor_info": {"ort": "info.json"}}}})",
      {{"first/m.onnx", "@model"}, {"first/info.json", R"({"model_file": "m.onnx"})"}, {"other/", ""}});
  const std::string hex(64, 'a');
  select("shared", Variant(cpu, "{\"model_file\": \"sha256:" + hex + "/m.onnx\"}"),
         {{"first/", ""}, {"shared_assets/sha256-" + hex + "/m.onnx", "@model"}});
  packages->ReleaseModelPackageOptions(options);

  options = OptionsFor(false);
  Select("by default", Manifest("{\"part\": " + Variant(cpu) + "}"), files, options);
  packages->ReleaseModelPackageOptions(options);
}

// The plug-in of the tests finds compiled models of "version 1" optimal and all others unsupported.
void WithPlugin() {
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  Must(ort->RegisterExecutionProviderLibrary(env, "plugin", (build / "lib/libtest_provider_plugin.so").c_str()));
  const OrtEpDevice* const* devices = nullptr;
  std::size_t count = 0;
  Must(ort->GetEpDevices(env, &devices, &count));
  const OrtEpDevice* device = nullptr;
  for (std::size_t i = 0; i < count && device == nullptr; ++i)
    if (std::string(ort->EpDevice_EpName(devices[i])) == "SdxTestProvider") device = devices[i];
  OrtSessionOptions* session_options = nullptr;
  Must(ort->CreateSessionOptions(&session_options));
  Must(ort->SessionOptionsAppendExecutionProvider_V2(session_options, env, &device, 1, nullptr, nullptr, 0));
  OrtModelPackageOptions* options = nullptr;
  Must(packages->CreateModelPackageOptionsFromSessionOptions(env, session_options, &options));
  ort->ReleaseSessionOptions(session_options);
  const std::string info = R"(, "variant_directory": "there", "executor_info": {"ort": {"model_file": "m.onnx"}})";
  const Files files = {{"there/m.onnx", "@model"}};
  const auto select = [&](const std::string& name, const std::vector<std::string>& variants) {
    std::string text;
    for (std::size_t i = 0; i < variants.size(); ++i)
      text += (i == 0 ? "\"" : ", \"") + std::string(1, static_cast<char>('a' + i)) +
              "\": {\"ep\": \"SdxTestProvider\"" + variants[i] + info + "}";
    Select(name, Manifest("{\"part\": {\"variants\": {" + text + "}}}"), files, options);
  };
  const std::string good = R"(, "compatibility_string": "version 1")", bad = R"(, "compatibility_string": "other")";
  select("plugin", {""});
  select("plugin optimal", {good});
  select("plugin unsupported", {bad});
  select("plugin empty", {R"(, "compatibility_string": "")"});
  select("plugin best", {bad, "", good, good});
  select("plugin unknown before unsupported", {bad, ""});
  select("plugin on cpu", {R"(, "device": "cpu")"});
  select("plugin on gpu", {R"(, "device": "gpu")", R"(, "device": "cpu")" + good});
  select("plugin on CPU", {R"(, "device": "CPU")"});
  packages->ReleaseModelPackageOptions(options);
  Must(ort->UnregisterExecutionProviderLibrary(env, "plugin"));
}

void WrongNames() {
  Make("wrong names", Manifest(kOne), kFirst);
  OrtModelPackageContext* context = Context("wrong names");
  std::size_t count = 7;
  const char* ep = "untouched";
  OrtModelPackageOptions* options = OptionsFor(true);
  OrtModelPackageComponentContext* component = nullptr;
  Answer("count of another", packages->ModelPackage_GetVariantCount(context, "other", &count));
  Answer("ep of another", packages->ModelPackage_GetVariantEpName(context, "other", "first", &ep));
  Answer("ep of no variant", packages->ModelPackage_GetVariantEpName(context, "part", "other", &ep));
  Answer("select another", packages->SelectComponent(context, "other", options, &component));
  Say("%zu %s %s", count, ep, component == nullptr ? "NULL" : "set");
  packages->ReleaseModelPackageOptions(options);
  packages->ReleaseModelPackageContext(context);
  packages->ReleaseModelPackageContext(nullptr);
  packages->ReleaseModelPackageOptions(nullptr);
  packages->ReleaseModelPackageComponentContext(nullptr);
  OrtSession* session = nullptr;
  Answer("session of a package folder", ort->CreateSession(env, (Root() / "wrong names").c_str(), nullptr, &session));
  Write(Root() / "file", "text");
  Answer("package that is a file", packages->CreateModelPackageContext((Root() / "file").c_str(), &context));
  Answer("package that is a manifest",
         packages->CreateModelPackageContext((Root() / "wrong names/manifest.json").c_str(), &context));
  Answer("no package", packages->CreateModelPackageContext((Root() / "none at all").c_str(), &context));
  Answer("empty path", packages->CreateModelPackageContext("", &context));
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  packages = ort->GetModelPackageApi();
  Schemas();
  Components();
  Variants();
  Assets();
  Paths();
  Selections();
  WithPlugin();
  WrongNames();
  fs::remove_all(Root());
  ort->ReleaseEnv(env);
  return 0;
}
