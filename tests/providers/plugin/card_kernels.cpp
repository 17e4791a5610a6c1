// tests/providers/plugin/card_kernels.cpp - kernels that read and write the memory of the card, as work of a stream.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "plugin.h"

namespace test_plugin {
namespace {

struct CardKernel : OrtKernelImpl {
  CardKernel() : OrtKernelImpl{} { ++counts.kernels; }
  ~CardKernel() { --counts.kernels; }
  std::string op_type;
};

// A tensor of the run, for work that is done later.
struct Place {
  std::vector<std::int64_t> shape;
  float* data = nullptr;
};

OrtStatus* PlaceOf(const OrtValue* value, Place& place) {
  TEST_PLUGIN_TRY(ReadShape(value, place.shape));
  const void* data = nullptr;
  TEST_PLUGIN_TRY(api->GetTensorData(value, &data));
  place.data = static_cast<float*>(const_cast<void*>(data));
  if (CountOf(place.shape) != 0 && !IsOnCard(data)) return Failure("a kernel of the card got memory of the host");
  return nullptr;
}

OrtStatus* ORT_API_CALL ComputeOnCard(OrtKernelImpl* self, OrtKernelContext* context) {
  TEST_PLUGIN_TRY(Fault("KernelCompute"));
  const std::string& op_type = static_cast<const CardKernel*>(self)->op_type;
  OrtSyncStream* stream = nullptr;
  TEST_PLUGIN_TRY(StreamOf(context, &stream));
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->KernelContext_GetInputCount(context, &count));
  std::vector<Place> from(count);
  std::vector<Array> shapes(count);
  std::vector<const Array*> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const OrtValue* value = nullptr;
    TEST_PLUGIN_TRY(api->KernelContext_GetInput(context, i, &value));
    TEST_PLUGIN_TRY(PlaceOf(value, from[i]));
    shapes[i].shape = from[i].shape;
    inputs.push_back(&shapes[i]);
  }
  Place to;
  TEST_PLUGIN_TRY(BroadcastShape(op_type, inputs, to.shape));
  OrtValue* value = nullptr;
  TEST_PLUGIN_TRY(api->KernelContext_GetOutput(context, 0, to.shape.data(), to.shape.size(), &value));
  TEST_PLUGIN_TRY(PlaceOf(value, to));
  Do(stream, [op_type, from, to] {
    const OpenDevice open;
    std::vector<Array> arrays;
    for (const Place& place : from)
      arrays.push_back({place.shape, std::vector<float>(place.data, place.data + CountOf(place.shape))});
    std::vector<const Array*> read;
    for (const Array& array : arrays) read.push_back(&array);
    Array result;
    if (OrtStatus* failed = Compute(op_type, read, result))
      return api->ReleaseStatus(failed);  // shapes fit: it has none
    std::copy(result.data.begin(), result.data.end(), to.data);
  });
  return nullptr;
}

void ORT_API_CALL Release(OrtKernelImpl* self) { delete static_cast<CardKernel*>(self); }

}  // namespace

OrtKernelImpl* NewCardKernel(const char* op_type) {
  auto kernel = std::make_unique<CardKernel>();
  kernel->ort_version_supported = Version();
  kernel->Compute = ComputeOnCard;
  kernel->Release = Release;
  kernel->op_type = op_type;
  return kernel.release();
}

}  // namespace test_plugin
