// tests/clients/programs/cxx_api/sparse_values.cpp - sparse tensors in the three formats, wrapped and copied.
#include "report.h"

namespace {

void Describe(const std::string& name, const Ort::Value& value, OrtSparseIndicesFormat indices) {
  const auto values = value.GetSparseTensorValuesTypeAndShapeInfo();
  const auto places = value.GetSparseTensorIndicesTypeShapeInfo(indices);
  const float* data = value.GetSparseTensorValues<float>();
  Say(name, value.IsSparseTensor(), value.IsTensor(), value.GetSparseFormat(), value.GetTypeInfo().GetONNXType(),
      values.GetElementType(), values.GetShape(), std::vector<float>(data, data + values.GetElementCount()),
      places.GetElementType(), places.GetShape(), value.GetTensorTypeAndShapeInfo().GetShape());
}

template <typename T>
void SayIndices(const std::string& name, const Ort::Value& value, OrtSparseIndicesFormat format) {
  size_t count = 0;
  const T* indices = value.GetSparseTensorIndicesData<T>(format, count);
  Say(name + ": indices", std::vector<T>(indices, indices + count));
}

}  // namespace

void SparseValues(const Places&) {
  Ort::AllocatorWithDefaultOptions allocator;
  const auto place = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const int64_t dense[] = {3, 3}, three[] = {3};
  std::vector<float> data{1, 2, 3};
  std::vector<int64_t> flat{1, 4, 8}, pairs{0, 1, 1, 1, 2, 2}, inner{1, 1, 2}, outer{0, 1, 2, 3};
  const Ort::Value::Shape whole{dense, 2}, values_shape{three, 1};
  Ort::Value::OrtSparseValuesParam values{};
  values.values_shape = three;
  values.values_shape_len = 1;
  values.data.p_data = data.data();

  Ort::Value coo = Ort::Value::CreateSparseTensor<float>(place, data.data(), whole, values_shape);
  coo.UseCooIndices(flat.data(), flat.size());
  Describe("COO, wrapped", coo, ORT_SPARSE_COO_INDICES);
  SayIndices<int64_t>("COO, wrapped", coo, ORT_SPARSE_COO_INDICES);
  coo = Ort::Value::CreateSparseTensor<float>(allocator, whole);
  coo.FillSparseTensorCoo(place, values, pairs.data(), pairs.size());
  Describe("COO, copied", coo, ORT_SPARSE_COO_INDICES);
  SayIndices<int64_t>("COO, copied", coo, ORT_SPARSE_COO_INDICES);

  Ort::Value csr =
      Ort::Value::CreateSparseTensor(place, data.data(), whole, values_shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  csr.UseCsrIndices(inner.data(), inner.size(), outer.data(), outer.size());
  Describe("CSR, wrapped", csr, ORT_SPARSE_CSR_INNER_INDICES);
  SayIndices<int64_t>("CSR, wrapped, inner", csr, ORT_SPARSE_CSR_INNER_INDICES);
  SayIndices<int64_t>("CSR, wrapped, outer", csr, ORT_SPARSE_CSR_OUTER_INDICES);
  csr = Ort::Value::CreateSparseTensor(allocator, whole, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  csr.FillSparseTensorCsr(place, values, inner.data(), inner.size(), outer.data(), outer.size());
  Describe("CSR, copied", csr, ORT_SPARSE_CSR_OUTER_INDICES);
  SayOutcome("CSR, asked for other indices", [&] { SayIndices<int64_t>("no", csr, ORT_SPARSE_COO_INDICES); });

  const int64_t blocks_dense[] = {4, 4}, blocks[] = {2, 2, 2}, places[] = {2, 2};
  std::vector<float> block_data{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int32_t> block_indices{0, 1, 0, 1};
  Ort::Value block = Ort::Value::CreateSparseTensor<float>(place, block_data.data(), {blocks_dense, 2}, {blocks, 3});
  block.UseBlockSparseIndices({places, 2}, block_indices.data());
  Describe("blocks, wrapped", block, ORT_SPARSE_BLOCK_SPARSE_INDICES);
  SayIndices<int32_t>("blocks, wrapped", block, ORT_SPARSE_BLOCK_SPARSE_INDICES);
  values.values_shape = blocks;
  values.values_shape_len = 3;
  values.data.p_data = block_data.data();
  block = Ort::Value::CreateSparseTensor<float>(allocator, {blocks_dense, 2});
  block.FillSparseTensorBlockSparse(place, values, {places, 2}, block_indices.data());
  Describe("blocks, copied", block, ORT_SPARSE_BLOCK_SPARSE_INDICES);
  SayOutcome("a dense tensor's format", [&] { Tensor(data, {3}).GetSparseFormat(); });
  outer.back() = 4;
  Ort::Value wrong = Ort::Value::CreateSparseTensor<float>(place, data.data(), whole, values_shape);
  SayOutcome("CSR with too few rows", [&] { wrong.UseCsrIndices(inner.data(), 3, outer.data(), 2); });
}
