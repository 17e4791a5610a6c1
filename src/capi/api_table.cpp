// capi/api_table.cpp - the tables of the C ABI: each slot is filled, or returns an error that names the function
// as not implemented.
//
// To add a function: its definition in an area file and its line in the table of capi/tables. The slots are frozen by
// tools/abi.
//
// Slots that return no status and are not implemented do nothing and return NULL, "" (text), 0, false or the first
// enumerator: the Release* functions of handles that nothing makes yet.
#include "capi/api_table.h"

#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "capi/functions.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

// A string literal as a template argument.
template <std::size_t kSize>
struct SlotName {
  char text[kSize];
  consteval SlotName(const char (&literal)[kSize]) {  // NOLINT(google-explicit-constructor): a literal is a name
    for (std::size_t i = 0; i < kSize; ++i) text[i] = literal[i];
  }
};

template <typename R, typename... Args>
using Slot = R(ORT_API_CALL*)(Args...) noexcept;

// Converts to a function of any signature that says it is not implemented.
template <SlotName kName>
struct NotImplemented {
  template <typename R, typename... Args>
  static R ORT_API_CALL Answer(Args... /*args*/) noexcept {
    if constexpr (std::is_same_v<R, OrtStatusPtr>) {
      char message[160];
      std::snprintf(message, sizeof(message), "%s is not implemented in Sardonyx %s", kName.text, SDX_VERSION);
      return MakeStatus(ORT_NOT_IMPLEMENTED, message);
    } else if constexpr (std::is_same_v<R, const char*>) {
      return "";
    } else if constexpr (!std::is_void_v<R>) {
      return R{};
    }
  }
  template <typename R, typename... Args>
  constexpr operator Slot<R, Args...>() const {  // NOLINT(google-explicit-constructor): stands for any slot
    return &Answer<R, Args...>;
  }
};

// clang-format off: each needs those before it
#include "capi/tables/not_implemented.inc"
#include "capi/tables/ep_api.inc"
#include "capi/tables/ort_api.inc"
#include "capi/tables/other_apis.inc"
// clang-format on

constexpr OrtApi kApi = FilledApi();
constexpr OrtModelEditorApi kModelEditorApi = FilledModelEditorApi();
constexpr OrtCompileApi kCompileApi = FilledCompileApi();
constexpr OrtInteropApi kInteropApi = FilledInteropApi();
constexpr OrtEpApi kEpApi = FilledEpApi();
constexpr OrtModelPackageApi kModelPackageApi = FilledModelPackageApi();

// One table serves every version: slots are only ever added at the end.
const OrtApi* ORT_API_CALL GetApi(std::uint32_t version) noexcept {
  if (version >= 1 && version <= ORT_API_VERSION) return &kApi;
  std::fprintf(stderr, "sardonyx: API version %u was requested; this library has versions 1 to %d\n",
               static_cast<unsigned>(version), ORT_API_VERSION);
  return nullptr;
}

const char* ORT_API_CALL GetVersionString() noexcept { return SDX_ORT_VERSION; }

constexpr OrtApiBase kApiBase = {.GetApi = GetApi, .GetVersionString = GetVersionString};

}  // namespace

const OrtModelEditorApi* ORT_API_CALL GetModelEditorApi() noexcept { return &kModelEditorApi; }
const OrtCompileApi* ORT_API_CALL GetCompileApi() noexcept { return &kCompileApi; }
const OrtInteropApi* ORT_API_CALL GetInteropApi() noexcept { return &kInteropApi; }
const OrtEpApi* ORT_API_CALL GetEpApi() noexcept { return &kEpApi; }
const OrtModelPackageApi* ORT_API_CALL GetModelPackageApi() noexcept { return &kModelPackageApi; }

const OrtApiBase& ApiBase() { return kApiBase; }

}  // namespace sardonyx::capi
