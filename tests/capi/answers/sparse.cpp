// tests/capi/answers/sparse.cpp - sparse tensors in their three formats, filled and with the caller's indices.
#include "answers.h"

namespace {

OrtMemoryInfo* cpu = nullptr;

OrtValue* Empty(std::vector<int64_t> dense, ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* value = nullptr;
  Must(ort->CreateSparseTensorAsOrtValue(allocator, dense.data(), dense.size(), type, &value));
  return value;
}

OrtValue* Around(std::vector<float>& values, std::vector<int64_t> shape, std::vector<int64_t> dense) {
  OrtValue* value = nullptr;
  Must(ort->CreateSparseTensorWithValuesAsOrtValue(cpu, values.data(), dense.data(), dense.size(), shape.data(),
                                                   shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

void SayShape(const char* what, OrtTensorTypeAndShapeInfo* info) {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  Must(ort->GetTensorElementType(info, &type));
  Must(ort->GetDimensionsCount(info, &rank));
  std::vector<int64_t> dims(rank);
  Must(ort->GetDimensions(info, dims.data(), rank));
  std::string text;
  for (const int64_t dim : dims) text += " " + std::to_string(dim);
  Say("  %s: type %d, shape%s", what, static_cast<int>(type), text.c_str());
  ort->ReleaseTensorTypeAndShapeInfo(info);
}

// All that can be asked of a sparse tensor. `kinds`: of indices.
void Describe(OrtValue* value, const std::vector<OrtSparseIndicesFormat>& kinds) {
  int is_sparse = 0;
  Must(ort->IsSparseTensor(value, &is_sparse));
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  Answer("  GetSparseTensorFormat", ort->GetSparseTensorFormat(value, &format));
  Say("  sparse %d, format %d", is_sparse, static_cast<int>(format));
  if (format == ORT_SPARSE_UNDEFINED) return;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (Answer("  GetTensorTypeAndShape", ort->GetTensorTypeAndShape(value, &info)) == 0) SayShape("dense", info);
  if (Answer("  GetSparseTensorValuesTypeAndShape", ort->GetSparseTensorValuesTypeAndShape(value, &info)) == 0)
    SayShape("values", info);
  const void* values = nullptr;
  if (Answer("  GetSparseTensorValues", ort->GetSparseTensorValues(value, &values)) == 0 && values != nullptr)
    Say("  first value %g", static_cast<double>(*static_cast<const float*>(values)));
  for (const OrtSparseIndicesFormat kind : kinds) {
    Say("  indices %d", static_cast<int>(kind));
    if (Answer("  GetSparseTensorIndicesTypeShape", ort->GetSparseTensorIndicesTypeShape(value, kind, &info)) != 0)
      continue;
    SayShape("indices", info);
    size_t count = 0;
    const void* indices = nullptr;
    if (Answer("  GetSparseTensorIndices", ort->GetSparseTensorIndices(value, kind, &count, &indices)) != 0) continue;
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += " " + std::to_string(kind == ORT_SPARSE_BLOCK_SPARSE_INDICES ? static_cast<const int32_t*>(indices)[i]
                                                                           : static_cast<const int64_t*>(indices)[i]);
    Say("  indices:%s (%zu)", text.c_str(), count);
  }
}

const float kValues[] = {1, 2, 3, 4, 5, 6, 7, 8};

int FillCsr(std::vector<int64_t> dense, std::vector<int64_t> shape, std::vector<int64_t> inner,
            std::vector<int64_t> outer, bool describe = false) {
  OrtValue* value = Empty(dense);
  const int code =
      Answer("FillSparseTensorCsr", ort->FillSparseTensorCsr(value, cpu, shape.data(), shape.size(), kValues,
                                                             inner.data(), inner.size(), outer.data(), outer.size()));
  if (describe) Describe(value, {ORT_SPARSE_CSR_INNER_INDICES, ORT_SPARSE_CSR_OUTER_INDICES});
  ort->ReleaseValue(value);
  return code;
}

int FillBlocks(std::vector<int64_t> dense, std::vector<int64_t> shape, std::vector<int64_t> indices_shape,
               std::vector<int32_t> indices, bool describe = false) {
  OrtValue* value = Empty(dense);
  const int code = Answer("FillSparseTensorBlockSparse",
                          ort->FillSparseTensorBlockSparse(value, cpu, shape.data(), shape.size(), kValues,
                                                           indices_shape.data(), indices_shape.size(), indices.data()));
  if (describe) Describe(value, {ORT_SPARSE_BLOCK_SPARSE_INDICES});
  ort->ReleaseValue(value);
  return code;
}

void Csr() {
  Say("CSR");
  FillCsr({3, 4}, {4}, {0, 2, 1, 3}, {0, 2, 3, 4}, true);
  Say("none");
  FillCsr({3, 4}, {0}, {}, {}, true);
  Say("too few inner");
  FillCsr({3, 4}, {4}, {0, 2, 1}, {0, 2, 3, 4});
  Say("too few outer");
  FillCsr({3, 4}, {4}, {0, 2, 1, 3}, {0, 2, 4});
  Say("of one dimension");
  FillCsr({4}, {4}, {0, 1, 2, 3}, {0, 4});
  Say("of three dimensions");
  FillCsr({3, 2, 2}, {4}, {0, 2, 1, 3}, {0, 2, 3, 4});
  Say("UseCsrIndices");
  std::vector<float> values = {1, 2, 3, 4};
  std::vector<int64_t> inner = {0, 2, 1, 3}, outer = {0, 2, 3, 4};
  OrtValue* value = Around(values, {4}, {3, 4});
  Describe(value, {});
  Answer("UseCsrIndices", ort->UseCsrIndices(value, inner.data(), inner.size(), outer.data(), outer.size()));
  Describe(value, {ORT_SPARSE_CSR_INNER_INDICES, ORT_SPARSE_CSR_OUTER_INDICES});
  inner[0] = 1;
  Describe(value, {ORT_SPARSE_CSR_INNER_INDICES});
  Answer("UseCooIndices of it", ort->UseCooIndices(value, inner.data(), inner.size()));
  Answer("UseCsrIndices again", ort->UseCsrIndices(value, inner.data(), inner.size(), outer.data(), outer.size()));
  ort->ReleaseValue(value);
  Say("out of bounds");
  FillCsr({3, 4}, {4}, {0, 2, 1, 4}, {0, 2, 3, 4});
  FillCsr({3, 4}, {4}, {0, -1, 1, 3}, {0, 2, 3, 4});
  FillCsr({3, 4}, {4}, {0, 2, 1, 3}, {0, 3, 2, 4});
  FillCsr({3, 4}, {4}, {0, 2, 1, 3}, {1, 2, 3, 4});
  inner = {0, 2, 1, 9};
  value = Around(values, {4}, {3, 4});
  Answer("UseCsrIndices out of bounds",
         ort->UseCsrIndices(value, inner.data(), inner.size(), outer.data(), outer.size()));
  ort->ReleaseValue(value);
  value = Around(values, {4}, {3, 4});
  Answer("UseCsrIndices, too few", ort->UseCsrIndices(value, inner.data(), 3, outer.data(), outer.size()));
  Answer("UseCsrIndices, too few rows", ort->UseCsrIndices(value, inner.data(), 4, outer.data(), 3));
  ort->ReleaseValue(value);
}

void Blocks() {
  Say("blocks");
  FillBlocks({4, 4}, {2, 2, 2}, {2, 2}, {0, 0, 0, 1}, true);
  Say("none");
  FillBlocks({4, 4}, {0}, {0}, {}, true);
  Say("values of two dimensions");
  FillBlocks({4, 4}, {2, 4}, {2, 2}, {0, 0, 0, 1});
  Say("indices of one dimension");
  FillBlocks({4, 4}, {2, 2, 2}, {4}, {0, 0, 0, 1});
  Say("another number of blocks");
  FillBlocks({4, 4}, {2, 2, 2}, {2, 1}, {0, 0});
  Say("of three dimensions");
  FillBlocks({2, 4, 4}, {2, 2, 2}, {2, 2}, {0, 0, 0, 1});
  Say("UseBlockSparseIndices");
  std::vector<float> values(8, 0.5f);
  std::vector<int32_t> indices = {0, 0, 0, 1};
  const int64_t indices_shape[] = {2, 2};
  OrtValue* value = Around(values, {2, 2, 2}, {4, 4});
  Answer("UseBlockSparseIndices", ort->UseBlockSparseIndices(value, indices_shape, 2, indices.data()));
  Describe(value, {ORT_SPARSE_BLOCK_SPARSE_INDICES});
  ort->ReleaseValue(value);
  Say("out of bounds");
  FillBlocks({4, 4}, {2, 2, 2}, {2, 2}, {0, 0, 0, 2});
  FillBlocks({4, 4}, {2, 2, 2}, {2, 2}, {0, 0, 0, -1});
  FillBlocks({5, 5}, {2, 2, 2}, {2, 2}, {0, 0, 0, 2});
  FillBlocks({4, 4}, {2, 2, 2}, {3, 2}, {0, 0, 0, 0, 0, 0});
  indices[3] = 7;
  value = Around(values, {2, 2, 2}, {4, 4});
  Answer("UseBlockSparseIndices out of bounds", ort->UseBlockSparseIndices(value, indices_shape, 2, indices.data()));
  ort->ReleaseValue(value);
}

void Coordinates() {
  Say("COO");
  const int64_t shape[] = {3}, indices[] = {2, 5, 6, 0, 1, 2};
  OrtValue* value = Empty({3, 3});
  Describe(value, {});
  Answer("FillSparseTensorCoo", ort->FillSparseTensorCoo(value, cpu, shape, 1, kValues, indices, 3));
  Describe(value, {ORT_SPARSE_COO_INDICES});
  ort->ReleaseValue(value);
  value = Empty({3, 3});
  Answer("FillSparseTensorCoo", ort->FillSparseTensorCoo(value, cpu, shape, 1, kValues, indices, 6));
  Describe(value, {ORT_SPARSE_COO_INDICES});
  ort->ReleaseValue(value);
  Say("out of bounds");
  std::vector<float> values = {1, 2, 3};
  std::vector<int64_t> linear = {1, 2, 9}, pairs = {0, 0, 1, 1, 2, 5}, good = {0, 0, 1, 1, 2, 2};
  for (std::vector<int64_t>* given : {&linear, &pairs, &good}) {
    value = Empty({3, 3});
    Answer("FillSparseTensorCoo",
           ort->FillSparseTensorCoo(value, cpu, shape, 1, kValues, given->data(), given->size()));
    ort->ReleaseValue(value);
    value = Around(values, {3}, {3, 3});
    Answer("UseCooIndices", ort->UseCooIndices(value, given->data(), given->size()));
    ort->ReleaseValue(value);
  }
  value = Empty({3, 3});
  Answer("FillSparseTensorCoo, too few", ort->FillSparseTensorCoo(value, cpu, shape, 1, kValues, indices, 2));
  Answer("FillSparseTensorCoo", ort->FillSparseTensorCoo(value, cpu, shape, 1, kValues, indices, 3));
  Answer("FillSparseTensorCoo again", ort->FillSparseTensorCoo(value, cpu, shape, 1, kValues, indices, 3));
  Describe(value, {ORT_SPARSE_COO_INDICES});
  size_t count = 0;
  const void* data = nullptr;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  for (const OrtSparseIndicesFormat kind :
       {ORT_SPARSE_CSR_INNER_INDICES, ORT_SPARSE_CSR_OUTER_INDICES, ORT_SPARSE_BLOCK_SPARSE_INDICES}) {
    Answer("indices of another format", ort->GetSparseTensorIndices(value, kind, &count, &data));
    if (Answer("their shape", ort->GetSparseTensorIndicesTypeShape(value, kind, &info)) == 0)
      ort->ReleaseTensorTypeAndShapeInfo(info);
  }
  ort->ReleaseValue(value);
}

void Strings() {
  Say("strings");
  const char* texts[] = {"a", "bc", "def"};
  const int64_t shape[] = {3}, inner[] = {0, 1, 0}, outer[] = {0, 2, 3};
  OrtValue* value = Empty({2, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  Answer("FillSparseTensorCsr", ort->FillSparseTensorCsr(value, cpu, shape, 1, texts, inner, 3, outer, 3));
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  Must(ort->GetSparseTensorFormat(value, &format));
  Say("format %d", static_cast<int>(format));
  ort->ReleaseValue(value);
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  Coordinates();
  Csr();
  Blocks();
  Strings();
  ort->ReleaseMemoryInfo(cpu);
  ort->ReleaseEnv(env);
}
