// capi/custom_op/kernel_info.cpp - the functions of OrtKernelInfo.
#include "capi/handles/kernel_info.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/type_info.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

using Port = KernelFacts::Port;

const KernelFacts& FactsOf(const OrtKernelInfo* info) { return *Need(info, "info").facts; }

const AttributeValue& AnyAttributeOf(const OrtKernelInfo* info, const char* name) {
  const KernelFacts& facts = FactsOf(info);
  const AttributeValue* value = facts.FindAttribute(&Need(name, "name"));
  if (value == nullptr) Fail(Code::kFail, "attribute '", name, "': expected it in the node, found none");
  return *value;
}

template <typename T>
const T& AttributeOf(const OrtKernelInfo* info, const char* name) {
  const AttributeValue& value = AnyAttributeOf(info, name);
  if (const T* found = std::get_if<T>(&value)) return *found;
  Fail(Code::kFail, "attribute '", name, "': expected ", AttributeTypeName(AttributeTypeOf(AttributeValue(T{}))),
       ", found ", AttributeTypeName(AttributeTypeOf(value)));
}

// Libraries rely on an attribute of another type to be an empty list.
template <typename T>
std::span<const T> ListOf(const OrtKernelInfo* info, const char* name) {
  const auto* list = std::get_if<std::vector<T>>(&AnyAttributeOf(info, name));
  return list != nullptr ? std::span<const T>(*list) : std::span<const T>();
}

// Tells the size that is needed, and copies if there is room; without a buffer that is all that was asked for.
template <typename T>
void CopyOut(const char* what, const T* data, std::size_t count, T* out, std::size_t* size) {
  const std::size_t room = std::exchange(Need(size, "size"), count);
  if (out == nullptr) return;
  if (room < count) Fail(Code::kInvalidArgument, what, ": expected room for ", count, " elements, found ", room);
  std::copy_n(data, count, out);
}

void CopyTextOut(const char* what, const std::string& text, char* out, std::size_t* size) {
  CopyOut(what, text.c_str(), text.size() + 1, out, size);
}

const Port& PortAt(const std::vector<Port>& ports, const char* what, std::size_t index) {
  if (index >= ports.size())
    Fail(Code::kInvalidArgument, what, ": expected an index below ", ports.size(), ", found ", index);
  return ports[index];
}

void GiveType(const Port& port, const char* what, std::size_t index, OrtTypeInfo** type_info) {
  auto& result = Need(type_info, "type_info");
  if (port.type.is_none()) Fail(Code::kInvalidGraph, what, " ", index, ": the node has none, so it has no type");
  result = MakeTypeInfo(port.type).release();
}

}  // namespace

OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_float(const OrtKernelInfo* info, const char* name,
                                                       float* out) noexcept {
  return Guard([&] { Need(out, "out") = AttributeOf<float>(info, name); });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_int64(const OrtKernelInfo* info, const char* name,
                                                       int64_t* out) noexcept {
  return Guard([&] { Need(out, "out") = AttributeOf<std::int64_t>(info, name); });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_string(const OrtKernelInfo* info, const char* name, char* out,
                                                        size_t* size) noexcept {
  return Guard([&] { CopyTextOut(name, AttributeOf<std::string>(info, name), out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttributeArray_float(const OrtKernelInfo* info, const char* name, float* out,
                                                            size_t* size) noexcept {
  return Guard([&] {
    const std::span<const float> list = ListOf<float>(info, name);
    CopyOut(name, list.data(), list.size(), out, size);
  });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttributeArray_int64(const OrtKernelInfo* info, const char* name, int64_t* out,
                                                            size_t* size) noexcept {
  return Guard([&] {
    const std::span<const std::int64_t> list = ListOf<std::int64_t>(info, name);
    CopyOut(name, list.data(), list.size(), out, size);
  });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttributeArray_string(const OrtKernelInfo* info, const char* name,
                                                             OrtAllocator* allocator, char*** out,
                                                             size_t* size) noexcept {
  return Guard([&] {
    const std::span<const std::string> list = ListOf<std::string>(info, name);
    OrtAllocator& memory = Need(allocator, "allocator");
    Need(size, "size") = list.size();
    if (out == nullptr) return;  // only the size was asked for
    *out = nullptr;
    if (list.empty()) return;
    auto** texts = static_cast<char**>(AllocateResult(&memory, list.size() * sizeof(char*)));
    std::size_t made = 0;
    try {
      for (; made < list.size(); ++made) texts[made] = CopyText(&memory, list[made]);
    } catch (...) {  // the caller frees nothing of a call that failed
      while (made > 0) memory.Free(&memory, texts[--made]);
      memory.Free(&memory, texts);
      *size = 0;
      throw;
    }
    *out = texts;
  });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetAttribute_tensor(const OrtKernelInfo* info, const char* name,
                                                        OrtAllocator* allocator, OrtValue** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    const Tensor& from = AttributeOf<Tensor>(info, name);
    Tensor copy(from.dtype(), from.shape(), FromHandle(&Need(allocator, "allocator")));
    if (IsString(from.dtype())) {
      std::copy_n(from.data<std::string>(), from.count(), copy.data<std::string>());
    } else if (from.byte_size() != 0) {
      std::memcpy(copy.raw(), from.raw(), from.byte_size());
    }
    *out = NewHandle(std::move(copy));
  });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetInputCount(const OrtKernelInfo* info, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = FactsOf(info).inputs.size(); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetOutputCount(const OrtKernelInfo* info, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = FactsOf(info).outputs.size(); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetInputName(const OrtKernelInfo* info, size_t index, char* out,
                                                  size_t* size) noexcept {
  return Guard([&] { CopyTextOut("input name", PortAt(FactsOf(info).inputs, "input", index).name, out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetOutputName(const OrtKernelInfo* info, size_t index, char* out,
                                                   size_t* size) noexcept {
  return Guard([&] { CopyTextOut("output name", PortAt(FactsOf(info).outputs, "output", index).name, out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetInputTypeInfo(const OrtKernelInfo* info, size_t index,
                                                      OrtTypeInfo** type_info) noexcept {
  return Guard([&] { GiveType(PortAt(FactsOf(info).inputs, "input", index), "input", index, type_info); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetOutputTypeInfo(const OrtKernelInfo* info, size_t index,
                                                       OrtTypeInfo** type_info) noexcept {
  return Guard([&] { GiveType(PortAt(FactsOf(info).outputs, "output", index), "output", index, type_info); });
}

OrtStatusPtr ORT_API_CALL KernelInfoGetConstantInput_tensor(const OrtKernelInfo* info, size_t index, int* is_constant,
                                                            const OrtValue** out) noexcept {
  return Guard([&] {
    const std::vector<Port>& inputs = FactsOf(info).inputs;
    const bool constant = index < inputs.size() && inputs[index].constant.has_value();
    Need(is_constant, "is_constant") = constant ? 1 : 0;
    if (constant) Need(out, "out");
    if (out != nullptr) *out = constant ? AsHandle(&inputs[index].constant) : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetNodeName(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return Guard([&] { CopyTextOut("node name", FactsOf(info).node_name, out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetOperatorDomain(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return Guard([&] { CopyTextOut("operator domain", FactsOf(info).domain, out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetOperatorType(const OrtKernelInfo* info, char* out, size_t* size) noexcept {
  return Guard([&] { CopyTextOut("operator type", FactsOf(info).op_type, out, size); });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo* info, int* since_version) noexcept {
  return Guard([&] { Need(since_version, "since_version") = FactsOf(info).since_version; });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetLogger(const OrtKernelInfo* info, const OrtLogger** logger) noexcept {
  return Guard([&] { Need(logger, "logger") = &FactsOf(info).session->logger; });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetConfigEntries(const OrtKernelInfo* info, OrtKeyValuePairs** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    const auto& config = FactsOf(info).session->config;
    *out = std::make_unique<OrtKeyValuePairs>(OrtKeyValuePairs::Entries(config.begin(), config.end())).release();
  });
}

// The memory where the kernel's inputs and outputs lie by default, or the host's for those of the other kinds.
OrtStatusPtr ORT_API_CALL KernelInfoGetAllocator(const OrtKernelInfo* info, OrtMemType mem_type,
                                                 OrtAllocator** out) noexcept {
  return Guard([&] {
    const std::shared_ptr<Allocator>& own = FactsOf(info).session->device_memory;
    Need(out, "out");
    *out = NewAllocator(own != nullptr && mem_type == OrtMemTypeDefault ? own : HostAllocator());
  });
}

OrtStatusPtr ORT_API_CALL CopyKernelInfo(const OrtKernelInfo* info, OrtKernelInfo** info_copy) noexcept {
  return Guard([&] {
    Need(info_copy, "info_copy");
    *info_copy = std::make_unique<OrtKernelInfo>(Need(info, "info")).release();
  });
}

void ORT_API_CALL ReleaseKernelInfo(OrtKernelInfo* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi
