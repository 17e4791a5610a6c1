// capi/container_value.cpp - makes sequences, maps and optionals, and takes them apart.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

// A copy of the tensor in memory of the caller's allocator: what it receives may be written to.
Tensor CopyInto(const Tensor& tensor, OrtAllocator* allocator) {
  Tensor copy(tensor.dtype(), tensor.shape(), FromHandle(&Need(allocator, "allocator")));
  if (IsString(tensor.dtype())) {
    std::copy_n(tensor.data<std::string>(), tensor.count(), copy.data<std::string>());
  } else if (tensor.byte_size() != 0) {
    std::memcpy(copy.raw(), tensor.raw(), tensor.byte_size());
  }
  return copy;
}

// An empty sequence has no element type; it fits every sequence input. Tensors are copied, as ONNX Runtime does: the
// caller may change or free their memory at once, and an element may become an output of a run.
Value MakeSequence(std::span<const OrtValue* const> items) {
  Sequence sequence;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& item = *AsValue(&Need(items[i], "in[i]"));
    if (!item.is_tensor() && !item.is_map())
      Fail(Code::kInvalidArgument, "sequence: expected a tensor or a map as element ", i, ", found ", item.KindName());
    const Value& first = *AsValue(items[0]);
    if (item.is_tensor() != first.is_tensor() || (item.is_tensor() && item.tensor().dtype() != first.tensor().dtype()))
      Fail(Code::kInvalidArgument, "sequence: expected elements of one type, found ", first.KindName(),
           " and, as element ", i, ", ", item.KindName());
    sequence.items.push_back(item.is_tensor() ? Value(item.tensor().Clone()) : item);
  }
  if (!items.empty() && sequence.items[0].is_tensor()) sequence.element_dtype = sequence.items[0].tensor().dtype();
  return sequence;
}

template <typename Key>
std::vector<std::int64_t> SortedOrder(const Tensor& keys) {
  const std::span<const Key> values = keys.span<Key>();
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::int64_t a, std::int64_t b) {
    return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
  };
  std::stable_sort(order.begin(), order.end(), less);
  const auto last = std::unique(order.begin(), order.end(), [&](auto a, auto b) { return !less(a, b); });
  order.erase(last, order.end());  // of equal keys the first wins
  return order;
}

Tensor Gather(const Tensor& from, std::span<const std::int64_t> order) {
  Tensor to(from.dtype(), Shape{static_cast<std::int64_t>(order.size())});
  if (IsString(from.dtype())) {
    for (std::size_t i = 0; i < order.size(); ++i) to.data<std::string>()[i] = from.data<std::string>()[order[i]];
    return to;
  }
  const std::size_t size = static_cast<std::size_t>(Bits(from.dtype()) / 8);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(to.data<std::byte>() + i * size, from.data<std::byte>() + static_cast<std::size_t>(order[i]) * size,
                size);
  return to;
}

Value MakeMap(const OrtValue* const* in, std::size_t count) {
  if (count != 2)
    Fail(Code::kInvalidArgument, "map: expected two tensors, the keys and the values, found ", count, " values");
  const Tensor& keys = NeedTensor(in[0], "in[0]");
  const Tensor& values = NeedTensor(in[1], "in[1]");
  if (keys.shape().rank() != 1 || !(keys.shape() == values.shape()))
    Fail(Code::kInvalidArgument, "map: expected keys and values of one shape [N], found ", ToText(keys.shape()),
         " and ", ToText(values.shape()));
  if (IsSubByte(values.dtype()))
    Fail(Code::kNotImplemented, "map: values of ", Name(values.dtype()), " are not implemented");
  std::vector<std::int64_t> order;
  const bool known =
      VisitDType<std::int64_t, std::string, std::int32_t, std::uint64_t, std::uint32_t, std::int16_t, std::uint16_t,
                 std::int8_t, std::uint8_t>(keys.dtype(), [&]<typename Key>() { order = SortedOrder<Key>(keys); });
  if (!known)
    Fail(Code::kInvalidArgument, "map: expected keys of an integer type or strings, found ", Name(keys.dtype()));
  return Map{Gather(keys, order), Gather(values, order)};
}

[[noreturn]] void FailNoContainer(const Value& value) {
  Fail(Code::kInvalidArgument, "argument 'value': expected a sequence or a map, found ", value.KindName());
}

Value ElementOf(const Value& value, int index, OrtAllocator* allocator) {
  if (value.is_map()) {
    if (index != 0 && index != 1)
      Fail(Code::kInvalidArgument, "map: expected index 0 (keys) or 1 (values), found ", index);
    return CopyInto(index == 0 ? value.map().keys : value.map().values, allocator);
  }
  if (!value.is_sequence()) FailNoContainer(value);
  const std::vector<Value>& items = value.sequence().items;
  if (index < 0 || static_cast<std::size_t>(index) >= items.size())
    Fail(Code::kFail, "sequence: expected an index in [0, ", items.size(), "), found ", index);
  const Value& item = items[static_cast<std::size_t>(index)];
  return item.is_tensor() ? Value(CopyInto(item.tensor(), allocator)) : item;  // maps never change
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateValue(const OrtValue* const* in, size_t num_values, enum ONNXType value_type,
                                      OrtValue** out) noexcept {
  return Guard([&] {
    NeedArray(in, num_values, "in");
    Need(out, "out");
    switch (value_type) {
      case ONNX_TYPE_SEQUENCE:
        *out = NewHandle(MakeSequence({in, num_values}));
        return;
      case ONNX_TYPE_MAP:
        *out = NewHandle(MakeMap(in, num_values));
        return;
      case ONNX_TYPE_OPTIONAL:  // ours: nothing, or the value itself
        if (num_values > 1) Fail(Code::kInvalidArgument, "optional: expected at most one value, found ", num_values);
        *out = NewHandle(num_values == 0 ? Value() : *AsValue(&Need(in[0], "in[0]")));
        return;
      default:
        Fail(Code::kFail, "CreateValue: expected a sequence (2), a map (3) or an optional (6), found ",
             int{value_type});
    }
  });
}

OrtStatusPtr ORT_API_CALL GetValueCount(const OrtValue* value, size_t* out) noexcept {
  return Guard([&] {
    const Value& v = *AsValue(&Need(value, "value"));
    if (!v.is_map() && !v.is_sequence()) FailNoContainer(v);
    Need(out, "out") = v.is_map() ? 2 : v.sequence().items.size();
  });
}

OrtStatusPtr ORT_API_CALL GetValue(const OrtValue* value, int index, OrtAllocator* allocator, OrtValue** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = NewHandle(ElementOf(*AsValue(&Need(value, "value")), index, allocator));
  });
}

}  // namespace sardonyx::capi
