// capi/type_info.cpp - the functions of OrtTypeInfo and of the infos inside it.
#include "capi/handles/type_info.h"

#include <algorithm>

#include "capi/functions.h"
#include "capi/handles/element_type.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {

OrtStatusPtr ORT_API_CALL GetOnnxTypeFromTypeInfo(const OrtTypeInfo* type_info, enum ONNXType* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(type_info, "type_info").kind; });
}

OrtStatusPtr ORT_API_CALL GetDenotationFromTypeInfo(const OrtTypeInfo* type_info, const char** const denotation,
                                                    size_t* len) noexcept {
  return Guard([&] {
    const std::string& text = Need(type_info, "type_info").denotation;
    Need(denotation, "denotation") = text.c_str();
    Need(len, "len") = text.size();
  });
}

// The casts answer NULL, not an error, for a type of another kind.
OrtStatusPtr ORT_API_CALL CastTypeInfoToTensorInfo(const OrtTypeInfo* type_info,
                                                   const OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(type_info, "type_info").tensor.get(); });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToMapTypeInfo(const OrtTypeInfo* type_info, const OrtMapTypeInfo** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(type_info, "type_info").map.get(); });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo* type_info,
                                                         const OrtSequenceTypeInfo** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(type_info, "type_info").sequence.get(); });
}

OrtStatusPtr ORT_API_CALL CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo* type_info,
                                                         const OrtOptionalTypeInfo** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(type_info, "type_info").optional.get(); });
}

OrtStatusPtr ORT_API_CALL GetMapKeyType(const OrtMapTypeInfo* map_type_info,
                                        enum ONNXTensorElementDataType* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(map_type_info, "map_type_info").key_type; });
}

OrtStatusPtr ORT_API_CALL GetMapValueType(const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info) noexcept {
  return Guard([&] {
    const Type& value = Need(map_type_info, "map_type_info").value;
    auto& result = Need(type_info, "type_info");
    result = MakeTypeInfo(value).release();
  });
}

OrtStatusPtr ORT_API_CALL GetSequenceElementType(const OrtSequenceTypeInfo* sequence_type_info,
                                                 OrtTypeInfo** type_info) noexcept {
  return Guard([&] {
    const OrtSequenceTypeInfo& sequence = Need(sequence_type_info, "sequence_type_info");
    auto& result = Need(type_info, "type_info");
    auto made = MakeTypeInfo(sequence.element);
    if (made->tensor && !sequence.symbols.empty()) made->tensor->symbols = sequence.symbols;
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL GetOptionalContainedTypeInfo(const OrtOptionalTypeInfo* optional_type_info,
                                                       OrtTypeInfo** out) noexcept {
  return Guard([&] {
    const Type& contained = Need(optional_type_info, "optional_type_info").contained;
    auto& result = Need(out, "out");
    result = MakeTypeInfo(contained).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = std::make_unique<OrtTensorTypeAndShapeInfo>().release();
  });
}

OrtStatusPtr ORT_API_CALL SetTensorElementType(OrtTensorTypeAndShapeInfo* info,
                                               enum ONNXTensorElementDataType type) noexcept {
  return Guard([&] {
    Need(info, "info").element_type = type;  // any: what is made from the info checks it
  });
}

OrtStatusPtr ORT_API_CALL SetDimensions(OrtTensorTypeAndShapeInfo* info, const int64_t* dim_values,
                                        size_t dim_count) noexcept {
  return Guard([&] {
    OrtTensorTypeAndShapeInfo& target = Need(info, "info");
    const Dims dims(NeedArray(dim_values, dim_count, "dim_values"), dim_count);
    for (std::size_t i = 0; i < dim_count; ++i) {
      if (dims[i] < -1)
        Fail(Code::kInvalidArgument, "dimension ", i, ": expected a size or -1 (unknown), found ", dims[i]);
    }
    target.dims.assign(dims.begin(), dims.end());
    target.symbols.assign(dim_count, "");
    target.has_shape = true;
  });
}

OrtStatusPtr ORT_API_CALL SetSymbolicDimensions(OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                                                size_t dim_params_length) noexcept {
  return Guard([&] {
    OrtTensorTypeAndShapeInfo& target = Need(info, "info");
    NeedArray(dim_params, dim_params_length, "dim_params");
    std::vector<std::string> symbols;
    for (std::size_t i = 0; i < dim_params_length; ++i)
      symbols.emplace_back(dim_params[i] != nullptr ? dim_params[i] : "");
    target.dims.resize(dim_params_length, -1);
    target.symbols = std::move(symbols);
    target.has_shape = true;
  });
}

OrtStatusPtr ORT_API_CALL GetTensorElementType(const OrtTensorTypeAndShapeInfo* info,
                                               enum ONNXTensorElementDataType* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(info, "info").element_type; });
}

OrtStatusPtr ORT_API_CALL GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(info, "info").dims.size(); });
}

OrtStatusPtr ORT_API_CALL GetDimensions(const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values,
                                        size_t dim_values_length) noexcept {
  return Guard([&] {
    const std::vector<std::int64_t>& dims = Need(info, "info").dims;
    NeedArray(dim_values, dim_values_length, "dim_values");
    std::copy_n(dims.begin(), std::min(dims.size(), dim_values_length), dim_values);
  });
}

OrtStatusPtr ORT_API_CALL GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                                                size_t dim_params_length) noexcept {
  return Guard([&] {
    const std::vector<std::string>& symbols = Need(info, "info").symbols;
    NeedArray(dim_params, dim_params_length, "dim_params");
    for (std::size_t i = 0; i < std::min(symbols.size(), dim_params_length); ++i) dim_params[i] = symbols[i].c_str();
  });
}

OrtStatusPtr ORT_API_CALL GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo* info, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = static_cast<std::size_t>(ElementCount(Need(info, "info").dims)); });
}

bool ORT_API_CALL TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo* info) noexcept {
  return Given(info) && info->has_shape;
}

void ORT_API_CALL ReleaseTypeInfo(OrtTypeInfo* input) noexcept { ReleaseHandle(input); }

void ORT_API_CALL ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* input) noexcept { ReleaseHandle(input); }

// Maps' and sequences' infos are only ever lent out by the OrtTypeInfo that owns them.
void ORT_API_CALL ReleaseMapTypeInfo(OrtMapTypeInfo* /*input*/) noexcept {}
void ORT_API_CALL ReleaseSequenceTypeInfo(OrtSequenceTypeInfo* /*input*/) noexcept {}

}  // namespace sardonyx::capi
