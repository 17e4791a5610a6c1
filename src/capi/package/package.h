// capi/package/package.h - model packages: folders with several variants of each of their models, of which a session
// loads the one that fits its execution provider.
//
// A package's manifest.json lists components (models), and each component its variants, with the provider and the
// device that a variant is for. The format is ONNX Runtime's, of major version 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/handles/kind.h"
#include "capi/options.h"
#include "capi/package/paths.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

struct PackageVariant {
  std::string name;
  std::optional<std::string> ep, device, compatibility;
  std::filesystem::path folder;  // empty: it has none
  // From executor_info["ort"].
  std::filesystem::path model_file;  // empty: not given
  NamedTexts session_options, provider_options;
};

struct PackageComponent {
  std::string name;
  std::vector<PackageVariant> variants;
  std::vector<const char*> variant_names;  // for callers
};

struct Package {
  PackageFolder folder;
  std::int64_t schema_version = 0;  // the major one
  std::vector<PackageComponent> components;
  std::vector<const char*> component_names;
};

// Fails with kFail naming the file and the field that is wrong; components point into themselves, so they stay put.
std::unique_ptr<Package> ReadPackage(const std::filesystem::path& root);

// Entries that name a file of the package. A caller's own session options get them where they have none.
bool NamesFile(const std::string& session_option);

}  // namespace sardonyx::capi

struct OrtModelPackageContext {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kModelPackageContext> mark;
  std::unique_ptr<sardonyx::capi::Package> package;
  mutable std::string resolved;  // what ModelPackage_ResolveStringRef gave last
};

// The first execution provider that session options name, choose by their policy or use by default.
struct OrtModelPackageOptions {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kModelPackageOptions> mark;
  std::string ep_name;
  std::vector<const OrtEpDevice*> devices;                  // of a plug-in
  std::optional<sardonyx::runtime::ProviderChoice> choice;  // none: the default, the CPU
};

struct OrtModelPackageComponentContext {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kModelPackageComponentContext> mark;
  std::string component_name;
  sardonyx::capi::PackageVariant variant;
  OrtModelPackageOptions options;
};
