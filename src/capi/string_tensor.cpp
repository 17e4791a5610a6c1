// capi/string_tensor.cpp - reads and writes the elements of string tensors.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "capi/functions.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

std::span<std::string> NeedStrings(OrtValue* value) {
  Tensor& tensor = NeedTensor(value);
  if (!IsString(tensor.dtype()))
    Fail(Code::kInvalidArgument, "argument 'value': expected a tensor of strings, found one of ", Name(tensor.dtype()));
  return tensor.span<std::string>();
}

std::span<const std::string> NeedStrings(const OrtValue* value) { return NeedStrings(const_cast<OrtValue*>(value)); }

template <typename Strings>
auto& ElementAt(Strings strings, std::size_t index) {
  if (index >= strings.size())
    Fail(Code::kInvalidArgument, "string tensor: expected an index below ", strings.size(), ", found ", index);
  return strings[index];
}

}  // namespace

OrtStatusPtr ORT_API_CALL FillStringTensor(OrtValue* value, const char* const* s, size_t s_len) noexcept {
  return Guard([&] {
    const std::span<std::string> strings = NeedStrings(value);
    if (s_len != strings.size())
      Fail(Code::kInvalidArgument, "string tensor: expected ", strings.size(), " strings, found ", s_len);
    NeedArray(s, s_len, "s");
    for (std::size_t i = 0; i < s_len; ++i) strings[i] = &Need(s[i], "s[i]");
  });
}

OrtStatusPtr ORT_API_CALL FillStringTensorElement(OrtValue* value, const char* s, size_t index) noexcept {
  return Guard([&] { ElementAt(NeedStrings(value), index) = &Need(s, "s"); });
}

OrtStatusPtr ORT_API_CALL GetResizedStringTensorElementBuffer(OrtValue* value, size_t index, size_t length_in_bytes,
                                                              char** buffer) noexcept {
  return Guard([&] {
    std::string& element = ElementAt(NeedStrings(value), index);
    element.resize(length_in_bytes);
    Need(buffer, "buffer") = element.data();
  });
}

OrtStatusPtr ORT_API_CALL GetStringTensorDataLength(const OrtValue* value, size_t* len) noexcept {
  return Guard([&] {
    std::size_t total = 0;
    for (const std::string& element : NeedStrings(value)) total += element.size();
    Need(len, "len") = total;
  });
}

OrtStatusPtr ORT_API_CALL GetStringTensorContent(const OrtValue* value, void* s, size_t s_len, size_t* offsets,
                                                 size_t offsets_len) noexcept {
  return Guard([&] {
    const std::span<const std::string> strings = NeedStrings(value);
    if (offsets_len != strings.size())
      Fail(Code::kFail, "string tensor: expected room for ", strings.size(), " offsets, found ", offsets_len);
    std::size_t total = 0;
    for (const std::string& element : strings) total += element.size();
    if (s_len < total) Fail(Code::kFail, "string tensor: expected room for ", total, " bytes, found ", s_len);
    NeedArray(static_cast<char*>(s), total, "s");
    NeedArray(offsets, offsets_len, "offsets");
    std::size_t at = 0;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      offsets[i] = at;
      if (!strings[i].empty()) std::memcpy(static_cast<char*>(s) + at, strings[i].data(), strings[i].size());
      at += strings[i].size();
    }
  });
}

OrtStatusPtr ORT_API_CALL GetStringTensorElementLength(const OrtValue* value, size_t index, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = ElementAt(NeedStrings(value), index).size(); });
}

OrtStatusPtr ORT_API_CALL GetStringTensorElement(const OrtValue* value, size_t s_len, size_t index, void* s) noexcept {
  return Guard([&] {
    const std::string& element = ElementAt(NeedStrings(value), index);
    if (s_len < element.size())
      Fail(Code::kFail, "string tensor: expected room for ", element.size(), " bytes, found ", s_len);
    NeedArray(static_cast<char*>(s), element.size(), "s");
    if (!element.empty()) std::memcpy(s, element.data(), element.size());
  });
}

}  // namespace sardonyx::capi
