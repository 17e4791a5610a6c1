// capi/custom_op/op_attr.cpp - makes and reads OrtOpAttr, the attributes that kernels give to operators they invoke.
#include "capi/handles/op_attr.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

template <typename T>
std::vector<T> ListOf(const void* data, int len) {
  const auto* list = static_cast<const T*>(NeedArray(data, static_cast<std::size_t>(len), "data"));
  return std::vector<T>(list, list + len);
}

std::vector<std::string> TextsOf(const void* data, int len) {
  const auto* const* list = static_cast<const char* const*>(NeedArray(data, static_cast<std::size_t>(len), "data"));
  std::vector<std::string> texts;
  for (int i = 0; i < len; ++i) texts.emplace_back(&Need(list[i], "data[i]"));
  return texts;
}

AttributeValue ValueOf(const void* data, int len, OrtOpAttrType type) {
  if (len < 0) Fail(Code::kInvalidArgument, "len: expected 0 or more, found ", len);
  switch (type) {
    case ORT_OP_ATTR_INT:
      return *static_cast<const std::int64_t*>(&Need(static_cast<const std::int64_t*>(data), "data"));
    case ORT_OP_ATTR_FLOAT:
      return *static_cast<const float*>(&Need(static_cast<const float*>(data), "data"));
    case ORT_OP_ATTR_STRING:
      return std::string(&Need(static_cast<const char*>(data), "data"));
    case ORT_OP_ATTR_INTS:
      return ListOf<std::int64_t>(data, len);
    case ORT_OP_ATTR_FLOATS:
      return ListOf<float>(data, len);
    case ORT_OP_ATTR_STRINGS:
      return TextsOf(data, len);
    default:
      Fail(Code::kFail,
           "type: expected an OrtOpAttrType from 1 (INT) to 6 (STRINGS), of which attributes can be made, found ",
           static_cast<int>(type));
  }
}

// A number or text. `out` tells the size of a number even where the attribute holds something else.
template <typename T>
const T& As(const Attribute& attribute, std::size_t* out) {
  Need(out, "out") = std::is_arithmetic_v<T> ? sizeof(T) : 0;
  if (const T* value = std::get_if<T>(&attribute.value)) return *value;
  Fail(Code::kInvalidArgument, "attribute '", attribute.name, "': expected ",
       AttributeTypeName(AttributeTypeOf(AttributeValue(T{}))), ", found ",
       AttributeTypeName(AttributeTypeOf(attribute.value)));
}

// The caller learns the size even where there is no room.
void CopyBytes(const Attribute& attribute, const void* from, std::size_t size, void* data, std::size_t len,
               std::size_t* out) {
  Need(out, "out") = size;
  if (len < size)
    Fail(Code::kInvalidArgument, "attribute '", attribute.name, "': expected room for ", size, " bytes, found ", len);
  if (size != 0) std::memcpy(&Need(static_cast<char*>(data), "data"), from, size);
}

template <typename T>
void CopyList(const Attribute& attribute, void* data, std::size_t len, std::size_t* out) {
  const auto* list = std::get_if<std::vector<T>>(&attribute.value);  // libraries rely on any other to be empty
  CopyBytes(attribute, list != nullptr ? list->data() : nullptr, list != nullptr ? list->size() * sizeof(T) : 0, data,
            len, out);
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateOpAttr(const char* name, const void* data, int len, OrtOpAttrType type,
                                       OrtOpAttr** op_attr) noexcept {
  return Guard([&] {
    Need(op_attr, "op_attr");
    auto made = std::make_unique<Attribute>(Attribute{&Need(name, "name"), ValueOf(data, len, type)});
    *op_attr = AsHandle(made.release());
  });
}

// A string comes without a NUL at its end, those of a list follow each other, each with one.
OrtStatusPtr ORT_API_CALL ReadOpAttr(const OrtOpAttr* op_attr, OrtOpAttrType type, void* data, size_t len,
                                     size_t* out) noexcept {
  return Guard([&] {
    const Attribute& attribute = *AsAttribute(&Need(op_attr, "op_attr"));
    switch (type) {
      case ORT_OP_ATTR_INT:
        return CopyBytes(attribute, &As<std::int64_t>(attribute, out), sizeof(std::int64_t), data, len, out);
      case ORT_OP_ATTR_FLOAT:
        return CopyBytes(attribute, &As<float>(attribute, out), sizeof(float), data, len, out);
      case ORT_OP_ATTR_STRING: {
        const std::string& text = As<std::string>(attribute, out);
        return CopyBytes(attribute, text.data(), text.size(), data, len, out);
      }
      case ORT_OP_ATTR_INTS:
        return CopyList<std::int64_t>(attribute, data, len, out);
      case ORT_OP_ATTR_FLOATS:
        return CopyList<float>(attribute, data, len, out);
      case ORT_OP_ATTR_STRINGS: {
        std::string joined;
        if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value))
          for (const std::string& text : *texts) joined.append(text.c_str(), text.size() + 1);
        return CopyBytes(attribute, joined.data(), joined.size(), data, len, out);
      }
      default:
        Fail(Code::kInvalidArgument, "type: expected an OrtOpAttrType from 1 (INT) to 6 (STRINGS), found ",
             static_cast<int>(type));
    }
  });
}

void ORT_API_CALL ReleaseOpAttr(OrtOpAttr* input) noexcept {
  if (input != nullptr && IsOther(input)) return ReportOtherKind(ExpectedName(input), NameOf(input));
  ReleaseHandle(reinterpret_cast<Attribute*>(input));
}

}  // namespace sardonyx::capi
