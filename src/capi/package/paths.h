// capi/package/paths.h - which file a model package means by a path, and that it lies inside of the package.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace sardonyx::capi {

// Where a package lies and what its paths may name. A portable package, which can be moved, keeps all its files in its
// own folder; one that was installed may name any file.
struct PackageFolder {
  std::filesystem::path root;  // without links
  bool installed = false;
  std::map<std::string, std::filesystem::path> assets;  // "sha256:" and 64 digits; the folder
};

// Whether `text` is the name of a shared asset: "sha256:" and 64 hexadecimal digits in lower case.
bool IsAssetName(std::string_view text);

// The file that `input` means, without links and "..": an asset's name, a path inside of an asset
// ("sha256:.../a.json"), a path from `base`, or an absolute path. Fails with kFail naming what is wrong: an empty path;
// a portable package's path that is absolute, has "..", or leads out of the package through a link; a path that leads
// out of an asset; an unknown asset; with `must_exist` a file that does not exist.
std::filesystem::path ResolvePath(const PackageFolder& folder, const std::filesystem::path& base,
                                  const std::string& input, bool must_exist);

}  // namespace sardonyx::capi
