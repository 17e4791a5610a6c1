// providers/plugin/fields.h - reads the fields of a plug-in's structs that its version of the interface has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "onnxruntime_c_api.h"

namespace sardonyx::plugin {

// Where the fields of an interface version begin. Structs only ever grow at their end.
struct Growth {
  std::uint32_t version;
  std::size_t offset;
};

template <typename Struct>
struct GrowthOf;

template <>
struct GrowthOf<OrtEp> {
  static constexpr Growth kSteps[] = {
      {23, offsetof(OrtEp, GetCapability)},
      {24, offsetof(OrtEp, GetKernelRegistry)},
      {25, offsetof(OrtEp, Sync)},
      {26, offsetof(OrtEp, IsGraphCaptureEnabled)},
      {27, offsetof(OrtEp, OnSessionInitializationEnd)},
      {29, offsetof(OrtEp, GetWeightlessSupport)},
      {31, offsetof(OrtEp, GetEpContextDataSupport)},
  };
};

template <>
struct GrowthOf<OrtEpFactory> {
  static constexpr Growth kSteps[] = {
      {23, offsetof(OrtEpFactory, GetVendorId)},
      {24, offsetof(OrtEpFactory, GetHardwareDeviceIncompatibilityDetails)},
      {25, offsetof(OrtEpFactory, InitGraphicsInterop)},
      {28, offsetof(OrtEpFactory, SelectBestModelCandidate)},
  };
};

// The bytes of a struct that a plug-in built for `version` has filled in.
template <typename Struct>
constexpr std::size_t SizeAt(std::uint32_t version) {
  for (const Growth& step : GrowthOf<Struct>::kSteps)
    if (step.version > version) return step.offset;
  return sizeof(Struct);
}

// A function of a plug-in's struct, or NULL where the struct is too old to have it.
template <typename Struct, typename Field>
Field FieldOf(const Struct* from, Field Struct::*field) {
  const auto offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(from->*field)) -
                                               reinterpret_cast<const std::byte*>(from));
  return offset < SizeAt<Struct>(from->ort_version_supported) ? from->*field : nullptr;
}

}  // namespace sardonyx::plugin
