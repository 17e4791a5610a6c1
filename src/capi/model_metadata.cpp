// capi/model_metadata.cpp - the functions of OrtModelMetadata.
#include "capi/handles/model_metadata.h"

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

using Text = std::string OrtModelMetadata::*;

OrtStatusPtr CopyField(const OrtModelMetadata* metadata, Text field, OrtAllocator* allocator, char** value) noexcept {
  return Guard([&] {
    const std::string& text = Need(metadata, "model_metadata").*field;
    auto& result = Need(value, "value");
    result = CopyText(allocator, text);
  });
}

}  // namespace

OrtStatusPtr ORT_API_CALL SessionGetModelMetadata(const OrtSession* session, OrtModelMetadata** out) noexcept {
  return Guard([&] {
    auto metadata = std::make_unique<OrtModelMetadata>(MetadataOf(ModelOf(session)));
    auto& result = Need(out, "out");
    result = metadata.release();
  });
}

void ORT_API_CALL ReleaseModelMetadata(OrtModelMetadata* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL ModelMetadataGetProducerName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                       char** value) noexcept {
  return CopyField(model_metadata, &OrtModelMetadata::producer_name, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetGraphName(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                    char** value) noexcept {
  return CopyField(model_metadata, &OrtModelMetadata::graph_name, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetDomain(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                 char** value) noexcept {
  return CopyField(model_metadata, &OrtModelMetadata::domain, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetDescription(const OrtModelMetadata* model_metadata, OrtAllocator* allocator,
                                                      char** value) noexcept {
  return CopyField(model_metadata, &OrtModelMetadata::description, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetGraphDescription(const OrtModelMetadata* model_metadata,
                                                           OrtAllocator* allocator, char** value) noexcept {
  return CopyField(model_metadata, &OrtModelMetadata::graph_description, allocator, value);
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetVersion(const OrtModelMetadata* model_metadata, int64_t* value) noexcept {
  return Guard([&] { Need(value, "value") = Need(model_metadata, "model_metadata").version; });
}

// A key that is not there is no error: the value is NULL.
OrtStatusPtr ORT_API_CALL ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata* model_metadata,
                                                               OrtAllocator* allocator, const char* key,
                                                               char** value) noexcept {
  return Guard([&] {
    const std::string_view wanted = &Need(key, "key");
    Need(value, "value") = nullptr;
    for (const auto& [name, text] : Need(model_metadata, "model_metadata").custom) {
      if (name == wanted) {
        *value = CopyText(allocator, text);
        return;
      }
    }
  });
}

OrtStatusPtr ORT_API_CALL ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata* model_metadata,
                                                                OrtAllocator* allocator, char*** keys,
                                                                int64_t* num_keys) noexcept {
  return Guard([&] {
    const auto& custom = Need(model_metadata, "model_metadata").custom;
    Need(keys, "keys") = nullptr;
    Need(num_keys, "num_keys") = static_cast<std::int64_t>(custom.size());
    if (custom.empty()) return;
    char** names = static_cast<char**>(AllocateResult(allocator, custom.size() * sizeof(char*)));
    for (std::size_t i = 0; i < custom.size(); ++i) names[i] = CopyText(allocator, custom[i].first);
    *keys = names;
  });
}

}  // namespace sardonyx::capi
