// model/onnx_fields.h - the field numbers of ONNX's protobuf messages (onnx.proto and onnx-data.proto), for both reader
// and writer.
#pragma once

#include <cstdint>

namespace sardonyx::model {

inline constexpr std::int64_t kNewestIrVersion = 14;

struct ModelField {
  enum : std::uint32_t {
    kIrVersion = 1,
    kProducerName = 2,
    kProducerVersion = 3,
    kDomain = 4,
    kModelVersion = 5,
    kDoc = 6,
    kGraph = 7,
    kOpsetImport = 8,
    kMetadata = 14,
    kTrainingInfo = 20,
    kFunctions = 25,
    kConfiguration = 26,
  };
};

struct GraphField {
  enum : std::uint32_t {
    kNode = 1,
    kName = 2,
    kInitializer = 5,
    kDoc = 10,
    kInput = 11,
    kOutput = 12,
    kValueInfo = 13,
    kQuantizationAnnotation = 14,
    kSparseInitializer = 15,
    kMetadata = 16,
  };
};

struct FunctionField {
  enum : std::uint32_t {
    kName = 1,
    kInput = 4,
    kOutput = 5,
    kAttribute = 6,
    kNode = 7,
    kDoc = 8,
    kOpsetImport = 9,
    kDomain = 10,
    kAttributeProto = 11,
    kValueInfo = 12,
    kOverload = 13,
    kMetadata = 14,
  };
};

struct NodeField {
  enum : std::uint32_t {
    kInput = 1,
    kOutput = 2,
    kName = 3,
    kOpType = 4,
    kAttribute = 5,
    kDoc = 6,
    kDomain = 7,
    kOverload = 8,
    kMetadata = 9,
    kDeviceConfigurations = 10,
  };
};

struct AttributeField {
  enum : std::uint32_t {
    kName = 1,
    kF = 2,
    kI = 3,
    kS = 4,
    kT = 5,
    kG = 6,
    kFloats = 7,
    kInts = 8,
    kStrings = 9,
    kTensors = 10,
    kGraphs = 11,
    kDoc = 13,
    kTp = 14,
    kTypeProtos = 15,
    kType = 20,
    kRefAttrName = 21,
    kSparseTensor = 22,
    kSparseTensors = 23,
  };
};

// AttributeProto.AttributeType
enum AttributeType : int {
  kAttrFloat = 1,
  kAttrInt = 2,
  kAttrString = 3,
  kAttrTensor = 4,
  kAttrGraph = 5,
  kAttrFloats = 6,
  kAttrInts = 7,
  kAttrStrings = 8,
  kAttrTensors = 9,
  kAttrGraphs = 10,
  kAttrSparseTensor = 11,
  kAttrSparseTensors = 12,
  kAttrTypeProto = 13,
  kAttrTypeProtos = 14,
};

struct TensorField {
  enum : std::uint32_t {
    kDims = 1,
    kDataType = 2,
    kSegment = 3,
    kFloatData = 4,
    kInt32Data = 5,
    kStringData = 6,
    kInt64Data = 7,
    kName = 8,
    kRawData = 9,
    kDoubleData = 10,
    kUInt64Data = 11,
    kDoc = 12,
    kExternalData = 13,
    kDataLocation = 14,
    kMetadata = 16,
  };
};

struct SparseTensorField {
  enum : std::uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
};

struct ValueInfoField {
  enum : std::uint32_t { kName = 1, kType = 2, kDoc = 3, kMetadata = 4 };
};

struct TypeField {
  enum : std::uint32_t {
    kTensor = 1,
    kSequence = 4,
    kMap = 5,
    kDenotation = 6,
    kOpaque = 7,
    kSparseTensor = 8,
    kOptional = 9,
  };
  enum Inner : std::uint32_t { kElemType = 1, kShape = 2, kKeyType = 1, kValueType = 2 };
  enum Dimension : std::uint32_t { kDim = 1, kDimValue = 1, kDimParam = 2, kDimDenotation = 3 };
};

struct EntryField {  // StringStringEntryProto, OperatorSetIdProto
  enum : std::uint32_t { kKey = 1, kValue = 2, kDomain = 1, kVersion = 2 };
};

struct SequenceField {
  enum : std::uint32_t {
    kName = 1,
    kElemType = 2,
    kTensors = 3,
    kSparseTensors = 4,
    kSequences = 5,
    kMaps = 6,
    kOptionals = 7,
  };
};

struct MapField {
  enum : std::uint32_t { kName = 1, kKeyType = 2, kKeys = 3, kStringKeys = 4, kValues = 5 };
};

// OptionalProto has the numbers of SequenceProto, each at most once.

}  // namespace sardonyx::model
