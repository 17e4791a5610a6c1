// capi/type_info_test.cpp - types of the IR as the C interface shows them.
#include "capi/handles/type_info.h"

#include <gtest/gtest.h>

#include <memory>

#include "capi/functions.h"
#include "capi/handles/element_type.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

void Must(OrtStatusPtr status) {
  EXPECT_EQ(status, nullptr) << GetErrorMessage(status);
  ReleaseStatus(status);
}

TEST(ElementType, GoesThroughTheCInterfaceAndBackForEveryType) {
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_EQ(FromElementType(ToElementType(dtype)), dtype) << number;
  }
  // Where the numbers of ONNX and of ONNX Runtime differ.
  EXPECT_EQ(ToElementType(DType::kFloat8E8M0), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0);
  EXPECT_EQ(ToElementType(DType::kInt2), ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2);
  EXPECT_THROW(FromElementType(static_cast<ONNXTensorElementDataType>(27)), Error);
  EXPECT_THROW(FromElementType(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED), Error);
}

TEST(TypeInfo, ShowsSymbolsUnknownDimensionsAndUnknownRanks) {
  const auto known = MakeTypeInfo(Type::TensorOf(DType::kFloat, {Dim(2), Dim::Symbol("N") + Dim(1), Dim()}));
  ASSERT_EQ(known->kind, ONNX_TYPE_TENSOR);
  EXPECT_EQ(known->tensor->dims, (std::vector<std::int64_t>{2, -1, -1}));
  EXPECT_EQ(known->tensor->symbols, (std::vector<std::string>{"", "N + 1", ""}));
  EXPECT_TRUE(TensorTypeAndShape_HasShape(known->tensor.get()));
  const auto unknown = MakeTypeInfo(Type::TensorOf(DType::kInt64));
  EXPECT_FALSE(TensorTypeAndShape_HasShape(unknown->tensor.get()));
}

TEST(TypeInfo, NestsContainers) {
  const auto info =
      MakeTypeInfo(Type::OptionalOf(Type::SequenceOf(Type::MapOf(DType::kString, Type::TensorOf(DType::kFloat)))));
  const OrtOptionalTypeInfo* optional = nullptr;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Must(CastTypeInfoToOptionalTypeInfo(info.get(), &optional));
  Must(CastTypeInfoToTensorInfo(info.get(), &tensor));
  EXPECT_EQ(tensor, nullptr);  // not an error: another kind
  OrtTypeInfo* sequence = nullptr;
  Must(GetOptionalContainedTypeInfo(optional, &sequence));
  const std::unique_ptr<OrtTypeInfo> owned_sequence(sequence);
  const OrtSequenceTypeInfo* sequence_info = nullptr;
  Must(CastTypeInfoToSequenceTypeInfo(sequence, &sequence_info));
  OrtTypeInfo* map = nullptr;
  Must(GetSequenceElementType(sequence_info, &map));
  const std::unique_ptr<OrtTypeInfo> owned_map(map);
  const OrtMapTypeInfo* map_info = nullptr;
  Must(CastTypeInfoToMapTypeInfo(map, &map_info));
  ONNXTensorElementDataType key = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Must(GetMapKeyType(map_info, &key));
  EXPECT_EQ(key, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
}

TEST(TypeInfo, TakesEveryElementTypeAndNone) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Must(CreateTensorTypeAndShapeInfo(&info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo> owned(info);
  for (const auto type : {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED}) {
    Must(SetTensorElementType(info, type));  // the crate ort copies infos, those without a type too
    ONNXTensorElementDataType found = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    Must(GetTensorElementType(info, &found));
    EXPECT_EQ(found, type);
  }
}

TEST(TypeInfo, GoesBackToTheSameType) {
  const Type types[] = {Type::TensorOf(DType::kUInt8, {Dim(3), Dim::Symbol("H"), Dim()}), Type::TensorOf(DType::kBool),
                        Type::SequenceOf(Type::TensorOf(DType::kFloat)),
                        Type::MapOf(DType::kInt64, Type::TensorOf(DType::kDouble, std::vector<Dim>{}))};
  for (const Type& type : types) EXPECT_EQ(FromTypeInfo(*MakeTypeInfo(type)), type) << type.ToText();
}

}  // namespace
}  // namespace sardonyx::capi
