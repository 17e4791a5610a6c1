// capi/package/read_package.cpp - reads the manifest of a model package and the files that it refers to.
//
// To read a new field: its name in the list of known ones of its object, and where it is used.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "capi/package/package.h"

namespace sardonyx::capi {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;  // names are listed in the order of the file

constexpr std::uintmax_t kMaxFile = 64u << 20;
constexpr int kMajor = 1, kNewestMinor = 0;
// A package may not make a session write files.
constexpr std::string_view kForbidden[] = {"session.debug_layout_transformation",
                                           "session.collect_node_memory_stats_to_file", "session.enable_profiling",
                                           "session.optimized_model_filepath"};

Json ReadJson(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) Fail(Code::kFail, "'", path.string(), "': ", error.message());
  if (size > kMaxFile) Fail(Code::kFail, "'", path.string(), "': expected at most ", kMaxFile, " bytes, found ", size);
  std::ifstream file(path, std::ios::binary);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!file.is_open() || json.is_discarded()) Fail(Code::kFail, "'", path.string(), "': expected JSON");
  return json;
}

// Reads one package. Every message begins with the place in it.
class Reader {
 public:
  explicit Reader(Package& package) : package_(package) {}

  void Read() {
    const Json manifest = ReadJson(package_.folder.root / "manifest.json");
    const std::string where = "manifest";
    CheckObject(where, manifest);
    const int minor = ReadVersion(manifest);
    strict_ = minor <= kNewestMinor;
    CheckKnown(where, manifest,
               {"schema_version", "package_name", "package_version", "description", "layout", "components",
                "shared_assets", "additional_metadata"});
    for (const char* name : {"package_name", "package_version", "description"}) TextOf(where, manifest, name);
    ReadLayout(manifest);
    ReadAssets(manifest);
    if (!manifest.contains("components")) Fail(Code::kFail, where, ": expected the field 'components', found none");
    const Json& components = manifest["components"];
    CheckObject(where + ": 'components'", components);
    for (const auto& [name, value] : components.items()) ReadComponent(name, value);
  }

 private:
  static void CheckObject(const std::string& where, const Json& json) {
    if (!json.is_object()) Fail(Code::kFail, where, ": expected a JSON object, found ", json.type_name());
  }

  void CheckKnown(const std::string& where, const Json& object, std::initializer_list<std::string_view> known) const {
    if (!strict_) return;  // of a newer minor version, which may have more
    for (const auto& [name, value] : object.items())
      if (std::find(known.begin(), known.end(), name) == known.end())
        Fail(Code::kFail, where, ": unknown field '", name, "'");
  }

  static std::optional<std::string> TextOf(const std::string& where, const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end()) return std::nullopt;
    if (!found->is_string())
      Fail(Code::kFail, where, ": field '", name, "': expected a string, found ", found->type_name());
    return found->get<std::string>();
  }

  // "1.0" or 1; returns the minor version.
  int ReadVersion(const Json& manifest) {
    const auto found = manifest.find("schema_version");
    if (found == manifest.end()) Fail(Code::kFail, "manifest: expected the field 'schema_version', found none");
    std::int64_t major = -1;
    int minor = 0;
    bool valid = found->is_number_integer();
    if (valid) {
      major = found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX ? -1 : found->get<std::int64_t>();
    } else if (found->is_string()) {
      const std::string text = *found;
      const char* const end = text.data() + text.size();
      auto read = std::from_chars(text.data(), end, major);
      valid = read.ec == std::errc() && text[0] != '-';
      if (valid && read.ptr != end) {
        const char* at = read.ptr + 1;
        valid = *read.ptr == '.' && at != end && *at != '-';
        if (valid) read = std::from_chars(at, end, minor);
        valid = valid && read.ec == std::errc() && read.ptr == end;
      }
    }
    if (!valid) Fail(Code::kFail, "manifest: field 'schema_version': expected \"MAJOR.MINOR\", found ", found->dump());
    if (major != kMajor)
      Fail(Code::kFail, "manifest: field 'schema_version': expected major version ", kMajor, ", found ", found->dump());
    package_.schema_version = major;
    return minor;
  }

  void ReadLayout(const Json& manifest) {
    const std::string layout = TextOf("manifest", manifest, "layout").value_or("portable");
    if (layout != "portable" && layout != "installed")
      Fail(Code::kFail, "manifest: field 'layout': expected 'portable' or 'installed', found '", layout, "'");
    package_.folder.installed = layout == "installed";
  }

  // Those that the manifest names, then those in the folder where they usually lie.
  void ReadAssets(const Json& manifest) {
    PackageFolder& folder = package_.folder;
    if (const auto found = manifest.find("shared_assets"); found != manifest.end()) {
      const std::string where = "manifest: 'shared_assets'";
      CheckObject(where, *found);
      for (const auto& [name, value] : found->items()) {
        if (!IsAssetName(name)) Fail(Code::kFail, where, ": expected 'sha256:' and 64 digits, found '", name, "'");
        if (!value.is_string()) Fail(Code::kFail, where, ": '", name, "': expected a path, found ", value.type_name());
        folder.assets[name] = ResolvePath(folder, folder.root, value, false);
      }
    }
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder.root / "shared_assets", error)) {
      std::string name = entry.path().filename().string();
      if (name.size() < 7 || name[6] != '-' || !entry.is_directory(error)) continue;
      name[6] = ':';
      if (IsAssetName(name)) folder.assets.emplace(name, entry.path());
    }
  }

  void ReadComponent(const std::string& name, const Json& value) {
    const std::string where = "component '" + name + "'";
    if (value.is_object()) return ReadVariants(name, value, package_.folder.root);
    if (!value.is_string()) Fail(Code::kFail, where, ": expected a path or a JSON object, found ", value.type_name());
    fs::path path = ResolvePath(package_.folder, package_.folder.root, value, true);
    std::error_code error;
    if (fs::is_directory(path, error)) path /= "component.json";
    const Json body = ReadJson(path);
    CheckObject(where, body);
    ReadVariants(name, body, path.parent_path());
  }

  void ReadVariants(const std::string& name, const Json& body, const fs::path& folder) {
    const std::string where = "component '" + name + "'";
    CheckKnown(where, body, {"component_name", "variants", "additional_metadata"});
    TextOf(where, body, "component_name");
    if (!body.contains("variants")) Fail(Code::kFail, where, ": expected the field 'variants', found none");
    CheckObject(where + ": 'variants'", body["variants"]);
    PackageComponent component{.name = name};
    for (const auto& [variant_name, variant] : body["variants"].items())
      component.variants.push_back(
          ReadVariant(where + ", variant '" + variant_name + "'", variant_name, variant, folder));
    package_.components.push_back(std::move(component));
  }

  PackageVariant ReadVariant(const std::string& where, const std::string& name, const Json& body,
                             const fs::path& component_folder) const {
    CheckObject(where, body);
    CheckKnown(where, body,
               {"variant_directory", "ep", "device", "compatibility_string", "executor_info", "additional_metadata"});
    PackageVariant variant{.name = name};
    variant.ep = TextOf(where, body, "ep");
    variant.device = TextOf(where, body, "device");
    variant.compatibility = TextOf(where, body, "compatibility_string");
    const std::optional<std::string> given = TextOf(where, body, "variant_directory");
    const fs::path folder = ResolvePath(package_.folder, component_folder, given.value_or(name), given.has_value());
    std::error_code error;
    if (fs::exists(folder, error)) variant.folder = folder;
    if (const auto info = body.find("executor_info"); info != body.end()) {
      CheckObject(where + ": 'executor_info'", *info);
      for (const auto& [executor, value] : info->items()) {
        const Json content = ReadInfo(where + ": executor_info['" + executor + "']", value, variant);
        if (executor == "ort") ReadOurInfo(where + ": executor_info['ort']", content, variant);
      }
    }
    return variant;
  }

  // An object as it is, or the file that a text names.
  Json ReadInfo(const std::string& where, const Json& value, const PackageVariant& variant) const {
    if (value.is_object()) return value;
    if (!value.is_string()) Fail(Code::kFail, where, ": expected a path or a JSON object, found ", value.type_name());
    if (variant.folder.empty()) Fail(Code::kFail, where, ": names a file, but the variant has no folder");
    return ReadJson(ResolvePath(package_.folder, variant.folder, value, true));
  }

  void ReadOurInfo(const std::string& where, const Json& info, PackageVariant& variant) const {
    CheckObject(where, info);
    const fs::path& base = variant.folder.empty() ? package_.folder.root : variant.folder;
    if (const auto file = TextOf(where, info, "model_file"))
      variant.model_file = ResolvePath(package_.folder, base, *file, false);
    variant.session_options = TextsOf(where, info, "session_options");
    variant.provider_options = TextsOf(where, info, "provider_options");
    for (auto& [key, value] : variant.session_options) {
      if (std::find(std::begin(kForbidden), std::end(kForbidden), key) != std::end(kForbidden))
        Fail(Code::kFail, where, ": 'session_options': a package may not set '", key, "'");
      if (NamesFile(key)) value = ResolvePath(package_.folder, base, value, false).string();
    }
  }

  static NamedTexts TextsOf(const std::string& where, const Json& info, const char* name) {
    NamedTexts texts;
    const auto found = info.find(name);
    if (found == info.end()) return texts;
    const std::string place = where + ": '" + name + "'";
    CheckObject(place, *found);
    for (const auto& [key, value] : found->items()) {
      if (key.find('\0') != std::string::npos) Fail(Code::kFail, place, ": expected keys without NUL");
      texts.emplace_back(key, *TextOf(place, *found, key.c_str()));
    }
    return texts;
  }

  Package& package_;
  bool strict_ = true;
};

}  // namespace

bool NamesFile(const std::string& session_option) {
  return session_option == "session.model_external_initializers_file_folder_path" ||
         session_option == "ep.context_file_path";
}

std::unique_ptr<Package> ReadPackage(const fs::path& root) {
  std::error_code error;
  auto package = std::make_unique<Package>();
  if (!fs::is_directory(root, error))
    Fail(Code::kFail, "model package '", root.string(), "': expected a folder with a manifest.json");
  package->folder.root = fs::canonical(root, error);
  if (error) Fail(Code::kFail, "model package '", root.string(), "': ", error.message());
  try {
    Reader(*package).Read();
  } catch (const Error& failure) {
    Fail(Code::kFail, "model package '", root.string(), "': ", failure.what());
  } catch (const nlohmann::json::exception& failure) {
    Fail(Code::kFail, "model package '", root.string(), "': ", failure.what());
  }
  for (PackageComponent& component : package->components) {
    package->component_names.push_back(component.name.c_str());
    for (const PackageVariant& variant : component.variants) component.variant_names.push_back(variant.name.c_str());
  }
  return package;
}

}  // namespace sardonyx::capi
