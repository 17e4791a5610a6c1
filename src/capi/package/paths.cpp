// capi/package/paths.cpp - which file a model package means by a path, and that it lies inside of the package.
#include "capi/package/paths.h"

#include <algorithm>

#include "base/error.h"

namespace sardonyx::capi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAsset = "sha256:";
constexpr std::size_t kAssetName = kAsset.size() + 64;

bool HasParentSteps(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool IsInside(const fs::path& path, const fs::path& folder) {
  const auto [left, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return left == folder.end();
}

// Follows links as far as the path exists.
fs::path Canonical(const fs::path& path, const std::string& input) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(path, error);
  if (error) Fail(Code::kFail, "path '", input, "': ", error.message());
  return result;
}

void CheckThere(const fs::path& path, const std::string& input) {
  std::error_code error;
  if (!fs::exists(path, error)) Fail(Code::kFail, "path '", input, "': there is no file '", path.string(), "'");
}

// A path that stays in `folder`, whatever the layout of the package.
fs::path Within(const fs::path& folder, const fs::path& path, const std::string& input, const char* what) {
  if (path.is_absolute()) Fail(Code::kFail, "path '", input, "': expected a relative path, found an absolute one");
  if (HasParentSteps(path)) Fail(Code::kFail, "path '", input, "': expected a path without '..'");
  const fs::path result = path.empty() ? folder : Canonical(folder / path, input);
  if (!IsInside(result, folder))
    Fail(Code::kFail, "path '", input, "': leads out of the ", what, ", to '", result.string(), "'");
  return result;
}

fs::path InAsset(const PackageFolder& folder, const std::string& input) {
  const auto found = folder.assets.find(input.substr(0, kAssetName));
  if (found == folder.assets.end()) Fail(Code::kFail, "path '", input, "': the package has no such shared asset");
  const fs::path asset = Canonical(found->second, input);
  return Within(asset, input.size() > kAssetName ? input.substr(kAssetName + 1) : "", input, "shared asset");
}

}  // namespace

bool IsAssetName(std::string_view text) {
  return text.size() == kAssetName && text.starts_with(kAsset) &&
         std::all_of(text.begin() + kAsset.size(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

fs::path ResolvePath(const PackageFolder& folder, const fs::path& base, const std::string& input, bool must_exist) {
  if (input.empty()) Fail(Code::kFail, "path of a model package: expected one, found ''");
  fs::path result, named = base / input;
  if (IsAssetName(std::string_view(input).substr(0, kAssetName)) &&
      (input.size() == kAssetName || input[kAssetName] == '/')) {
    result = named = InAsset(folder, input);
  } else if (folder.installed) {
    result = Canonical(named, input);
  } else {
    const fs::path path(input);
    if (path.is_absolute() || HasParentSteps(path))
      Fail(Code::kFail, "path '", input, "': expected one inside of the package, whose layout is portable, found ",
           path.is_absolute() ? "an absolute path" : "one with '..'");
    result = Canonical(named, input);
    if (!IsInside(result, folder.root))
      Fail(Code::kFail, "path '", input, "': expected one inside of the package '", folder.root.string(), "', found '",
           result.string(), "'");
  }
  if (must_exist) CheckThere(named, input);
  return result;
}

}  // namespace sardonyx::capi
