// capi/key_value_pairs.cpp - the functions of OrtKeyValuePairs.
//
// They return no status, so a NULL or empty key is ignored, and so is an entry for which there is no memory.
#include "capi/handles/key_value_pairs.h"

#include <memory>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {

void ORT_API_CALL CreateKeyValuePairs(OrtKeyValuePairs** out) noexcept {
  if (out == nullptr) return;
  *out = nullptr;
  FreeStatus(Guard([&] { *out = std::make_unique<OrtKeyValuePairs>().release(); }));
}

void ORT_API_CALL AddKeyValuePair(OrtKeyValuePairs* kvps, const char* key, const char* value) noexcept {
  if (!Given(kvps) || key == nullptr || *key == '\0') return;
  FreeStatus(Guard([&] { kvps->Set(key, value != nullptr ? value : ""); }));
}

const char* ORT_API_CALL GetKeyValue(const OrtKeyValuePairs* kvps, const char* key) noexcept {
  return Given(kvps) && key != nullptr ? kvps->Find(key) : nullptr;
}

void ORT_API_CALL GetKeyValuePairs(const OrtKeyValuePairs* kvps, const char* const** keys, const char* const** values,
                                   size_t* num_entries) noexcept {
  if (keys != nullptr) *keys = Given(kvps) ? kvps->keys() : nullptr;
  if (values != nullptr) *values = Given(kvps) ? kvps->values() : nullptr;
  if (num_entries != nullptr) *num_entries = Given(kvps) ? kvps->size() : 0;
}

void ORT_API_CALL RemoveKeyValuePair(OrtKeyValuePairs* kvps, const char* key) noexcept {
  if (!Given(kvps) || key == nullptr) return;
  FreeStatus(Guard([&] { kvps->Remove(key); }));
}

void ORT_API_CALL ReleaseKeyValuePairs(OrtKeyValuePairs* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi
