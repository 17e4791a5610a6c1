// tests/clients/programs/cxx_api/values.cpp - tensors, strings, sequences, maps, memory.
#include <cstring>

#include "report.h"

namespace {

void Describe(const std::string& name, const Ort::Value& value) {
  const Ort::TypeInfo type = value.GetTypeInfo();
  Say(name + ": kind", type.GetONNXType(), value.IsTensor(), value.HasValue());
  if (!value.IsTensor()) return;
  const auto info = value.GetTensorTypeAndShapeInfo();
  const auto place = value.GetTensorMemoryInfo();
  Say(name + ": tensor", info.GetElementType(), info.GetElementCount(), info.GetDimensionsCount(), info.GetShape());
  Say(name + ": place", place.GetAllocatorName(), place.GetAllocatorType(), place.GetDeviceId(), place.GetDeviceType(),
      place.GetMemoryType());
  const auto through_type = type.GetTensorTypeAndShapeInfo();
  Say(name + ": through its type", through_type.GetElementType(), through_type.GetShape());
}

template <typename T>
void OneType(const std::string& name, std::vector<T> data) {
  Ort::AllocatorWithDefaultOptions allocator;
  const std::vector<int64_t> shape{static_cast<int64_t>(data.size()) / 2, 2};
  Ort::Value wrapped = Tensor(data, shape);
  Describe(name, wrapped);
  Ort::Value own = Ort::Value::CreateTensor<T>(allocator, shape.data(), shape.size());
  std::memcpy(own.GetTensorMutableRawData(), data.data(), data.size() * sizeof(T));
  own.At<T>({1, 0}) = data.back();
  std::memset(own.GetTensorMutableData<T>(), 0, sizeof(T));
  const auto* raw = static_cast<const unsigned char*>(own.GetTensorRawData());
  Say(name + ": bytes", std::vector<unsigned char>(raw, raw + data.size() * sizeof(T)));
  Say(name + ": the same memory", wrapped.GetTensorRawData() == static_cast<const void*>(data.data()));
}

void Strings() {
  Ort::AllocatorWithDefaultOptions allocator;
  const int64_t shape[] = {2, 2};
  Ort::Value text = Ort::Value::CreateTensor(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  const char* words[] = {"one", "", "zażółć", "four"};
  text.FillStringTensor(words, 4);
  text.FillStringTensorElement("another", 1);
  std::memcpy(text.GetResizedStringTensorElementBuffer(3, 5), "hello", 5);
  Describe("strings", text);
  const size_t length = text.GetStringTensorDataLength();
  std::string all(length, ' ');
  std::vector<size_t> offsets(4);
  text.GetStringTensorContent(all.data(), all.size(), offsets.data(), offsets.size());
  Say("strings: all", all, offsets);
  std::string buffer(text.GetStringTensorElementLength(2), ' ');
  text.GetStringTensorElement(buffer.size(), 2, buffer.data());
  Say("strings: one", text.GetStringTensorElement(0), buffer, text.GetStringTensorElementLength(1));
  SayOutcome("strings: one too far", [&] { text.GetStringTensorElement(4); });
  SayOutcome("strings: too few words", [&] { text.FillStringTensor(words, 3); });
}

void Containers() {
  Ort::AllocatorWithDefaultOptions allocator;
  std::vector<int64_t> keys{3, 5};
  std::vector<float> items{0.5F, 1.5F};
  Ort::Value map = Ort::Value::CreateMap(Tensor(keys, {2}), Tensor(items, {2}));
  Describe("map", map);
  const auto type = map.GetTypeInfo();
  const auto map_type = type.GetMapTypeInfo();
  Say("map: type", map_type.GetMapKeyType(), map_type.GetMapValueType().GetTensorTypeAndShapeInfo().GetElementType());
  Say("map: parts", map.GetCount(), Elements<int64_t>(map.GetValue(0, allocator)),
      Elements<float>(map.GetValue(1, allocator)));
  SayOutcome("map: a third part", [&] { map.GetValue(2, allocator); });

  std::vector<Ort::Value> parts;
  parts.push_back(Tensor(items, {2}));
  parts.push_back(Tensor(items, {1, 2}));
  Ort::Value sequence = Ort::Value::CreateSequence(parts);
  Describe("sequence", sequence);
  const auto sequence_type = sequence.GetTypeInfo();
  const auto element = sequence_type.GetSequenceTypeInfo().GetSequenceElementType();
  Say("sequence: type", element.GetONNXType(), element.GetTensorTypeAndShapeInfo().GetElementType());
  Say("sequence: parts", sequence.GetCount(), sequence.GetValue(1, allocator).GetTensorTypeAndShapeInfo().GetShape());
  SayOutcome("sequence: one too far", [&] { sequence.GetValue(2, allocator); });

  std::vector<Ort::Value> maps;
  maps.push_back(std::move(map));
  Ort::Value listed = Ort::Value::CreateSequence(maps);
  Say("sequence of maps", listed.GetCount(), listed.GetValue(0, allocator).GetTypeInfo().GetONNXType());
  SayOutcome("opaque", [] { Ort::Value::CreateOpaque<int>("nowhere", "Nothing", 1); });
  const Ort::Value nothing{nullptr};
  Say("no value", static_cast<const OrtValue*>(nothing) == nullptr);
}

void Memory() {
  Ort::AllocatorWithDefaultOptions allocator;
  const auto place = allocator.GetInfo();
  const Ort::MemoryInfo named("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  const auto cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeCPUInput);
  Say("memory", place.GetAllocatorName(), place.GetAllocatorType(), place.GetDeviceId(), place.GetMemoryType(),
      place == named, cpu == named, named.GetConst() == place, cpu.GetMemoryType(), cpu.GetAllocatorType());
  SayOutcome("memory of an unknown place", [] { Ort::MemoryInfo("Moon", OrtDeviceAllocator, 0, OrtMemTypeDefault); });
  void* bytes = allocator.Alloc(100);
  std::memset(bytes, 1, 100);
  allocator.Free(bytes);
  Ort::MemoryAllocation held = allocator.GetAllocation(64);
  Ort::MemoryAllocation moved(std::move(held));
  Say("allocation", moved.size(), moved.get() != nullptr, held.get() == nullptr);
  held = std::move(moved);
  Say("allocation moved back", held.size());

  std::vector<float> data{1, 2, 3, 4};
  const int64_t shape[] = {4}, negative[] = {-4}, large[] = {5};
  const auto make = [&](const int64_t* dimensions, size_t bytes_count) {
    return Ort::Value::CreateTensor(named, data.data(), bytes_count, dimensions, 1,
                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  };
  Say("of untyped memory", Elements<float>(make(shape, 16)));
  SayOutcome("with a negative dimension", [&] { make(negative, 16); });
  SayOutcome("larger than its memory", [&] { make(large, 16); });
  Ort::Value tensor = make(shape, 16);
  SayOutcome("an element outside", [&] { tensor.At<float>({4}); });
  SayOutcome("an element with too many indices", [&] { tensor.At<float>({0, 0}); });
  Say("an unowned value", Elements<float>(tensor.GetConst()), tensor.GetUnowned().At<float>({2}));
#if ORT_API_VERSION >= 22
  void* given = allocator.Alloc(16);
  std::memcpy(given, data.data(), 16);
  Ort::Value owner = Ort::Value::CreateTensor(allocator, given, 16, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  Say("memory given to a value", Elements<float>(owner), owner.GetTensorSizeInBytes());
#endif
#if ORT_API_VERSION >= 23
  const Ort::MemoryInfo card("card", OrtMemoryInfoDeviceType_GPU, 0x10DE, 1, OrtDeviceMemoryType_HOST_ACCESSIBLE, 256,
                             OrtDeviceAllocator);
  Say("memory of a card", card.GetAllocatorName(), card.GetDeviceType(), card.GetVendorId(), card.GetDeviceId(),
      card.GetDeviceMemoryType(), card == named);
  Say("statistics of the default allocator", allocator.GetStats().GetKeyValuePairs().size());
#endif
}

}  // namespace

void Values(const Places&) {
  OneType<float>("float", {1, 2, 3, 4});
  OneType<double>("double", {1, 2, 3, 4});
  OneType<int8_t>("int8", {1, 2, 3, 4});
  OneType<uint8_t>("uint8", {1, 2, 3, 4});
  OneType<int16_t>("int16", {1, 2, 3, 4});
  OneType<uint16_t>("uint16", {1, 2, 3, 4});
  OneType<int32_t>("int32", {1, 2, 3, 4});
  OneType<uint32_t>("uint32", {1, 2, 3, 4});
  OneType<int64_t>("int64", {1, 2, 3, 4});
  OneType<uint64_t>("uint64", {1, 2, 3, 4});
  using Ort::BFloat16_t, Ort::Float16_t;
  OneType<Float16_t>("float16", {Float16_t(1.5F), Float16_t(2.0F), Float16_t(3.0F), Float16_t(4.0F)});
  OneType<BFloat16_t>("bfloat16", {BFloat16_t(1.5F), BFloat16_t(2.0F), BFloat16_t(3.0F), BFloat16_t(4.0F)});
  OneType<Ort::Float8E4M3FN_t>("float8e4m3fn", {1, 2, 3, 4});
  OneType<Ort::Float8E4M3FNUZ_t>("float8e4m3fnuz", {1, 2, 3, 4});
  OneType<Ort::Float8E5M2_t>("float8e5m2", {1, 2, 3, 4});
  OneType<Ort::Float8E5M2FNUZ_t>("float8e5m2fnuz", {1, 2, 3, 4});
  bool flags[] = {true, false, true, true};
  const int64_t shape[] = {4};
  const auto place = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  Describe("bool", Ort::Value::CreateTensor<bool>(place, flags, 4, shape, 1));
  Strings();
  Containers();
  Memory();
}
