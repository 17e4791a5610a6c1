// ops/image/image_component.cpp - finds libsardonyx_images.so and loads it.
#include "ops/image/image_component.h"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <string>

#include "base/error.h"

namespace sardonyx::ops {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libsardonyx_images.so";

// The file of the library or program that holds this function, after links.
fs::path OwnFile() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&LoadImageDecoders), &own) == 0 || own.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path file = fs::canonical(own.dli_fname, error);
  return error ? fs::path(own.dli_fname) : file;
}

// Beside the library; beside a program that is linked with the static library and installed in bin/; and, for the
// library in the wheel `onnxruntime`, in the package `sardonyx` that this wheel needs.
std::string FindComponent(const fs::path& own) {
  const fs::path folder = own.parent_path();
  for (const fs::path& place : {folder / kFile, folder / "../lib" / kFile, folder / "../../sardonyx" / kFile})
    if (std::error_code error; fs::exists(place, error)) return place.string();
  Fail(Code::kNotImplemented, "there is no ", kFile, " in ", folder.string(),
       "; it is built with the library where the development packages of libjpeg-turbo, libpng, libwebp, libtiff and "
       "OpenJPEG are installed (tools/setup.py installs them)");
}

decltype(&SdxDecodeImage) Load() {
  const std::string path = FindComponent(OwnFile());
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for the life of the process
  if (handle == nullptr) Fail(Code::kNotImplemented, path, " cannot be loaded: ", dlerror());
  const auto version = reinterpret_cast<decltype(&SdxImagesVersion)>(dlsym(handle, "SdxImagesVersion"));
  const auto decode = reinterpret_cast<decltype(&SdxDecodeImage)>(dlsym(handle, "SdxDecodeImage"));
  if (version == nullptr || decode == nullptr || version() != SDX_IMAGES_VERSION)
    Fail(Code::kNotImplemented, "expected version ", SDX_IMAGES_VERSION, " of the interface for images in ", path,
         ", found ", version == nullptr ? "none" : std::to_string(version()));
  return decode;
}

}  // namespace

decltype(&SdxDecodeImage) LoadImageDecoders() {
  static std::mutex mutex;
  static decltype(&SdxDecodeImage) decode = nullptr;
  const std::lock_guard lock(mutex);
  if (decode == nullptr) decode = Load();  // tried again after a failure: the file may have come in between
  return decode;
}

}  // namespace sardonyx::ops
