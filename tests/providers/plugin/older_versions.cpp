// tests/providers/plugin/older_versions.cpp - the plug-in as if it had been built for an older version of the
// interface.
//
// What a struct has got since then lies behind the memory that such a plug-in would give it: here these fields hold
// addresses that nobody can call or read.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "plugin.h"

namespace test_plugin {
namespace {

std::uint32_t version = ORT_API_VERSION;

struct Growth {
  std::uint32_t version;
  std::size_t offset;  // of the first field that is new in it
};
constexpr Growth kOfProvider[] = {
    {23, offsetof(OrtEp, GetCapability)},
    {24, offsetof(OrtEp, GetKernelRegistry)},
    {25, offsetof(OrtEp, Sync)},
    {26, offsetof(OrtEp, IsGraphCaptureEnabled)},
    {27, offsetof(OrtEp, OnSessionInitializationEnd)},
    {29, offsetof(OrtEp, GetWeightlessSupport)},
    {31, offsetof(OrtEp, GetEpContextDataSupport)},
};
constexpr Growth kOfFactory[] = {
    {23, offsetof(OrtEpFactory, GetVendorId)},
    {24, offsetof(OrtEpFactory, GetHardwareDeviceIncompatibilityDetails)},
    {25, offsetof(OrtEpFactory, InitGraphicsInterop)},
    {28, offsetof(OrtEpFactory, SelectBestModelCandidate)},
};

template <typename Struct, std::size_t count>
void Cut(Struct* whole, const Growth (&steps)[count]) {
  whole->ort_version_supported = version;
  for (const Growth& step : steps) {
    if (step.version <= version) continue;
    std::memset(reinterpret_cast<char*>(whole) + step.offset, 0xdb, sizeof(Struct) - step.offset);
    return;
  }
}

}  // namespace

std::uint32_t Version() { return version; }

void ReadVersion() {
  const char* text = std::getenv("SDX_PLUGIN_VERSION");
  version = text != nullptr ? static_cast<std::uint32_t>(std::atoi(text)) : ORT_API_VERSION;
}

void CutToVersion(OrtEp* provider) { Cut(provider, kOfProvider); }
void CutToVersion(OrtEpFactory* factory) { Cut(factory, kOfFactory); }

}  // namespace test_plugin
