"""The tables of ORT format, and of checkpoints of training, as ONNX Runtime 1.31's ort.fbs defines them; see
sardonyx.flat_tables for how they are written."""

SCHEMA = """
enum ArgType: INPUT=0, OUTPUT=1
table ArgTypeAndIndex: ArgType:int8, Index:uint32
table Attribute: Name:string, DocString:string, Type:int32, F:float32, I:int64, S:string, T:Tensor, G:Graph,
  Floats:[float32], Ints:[int64], Strings:[string], Tensors:[Tensor], Graphs:[Graph]
enum AttributeType: UNDEFINED=0, FLOAT=1, INT=2, STRING=3, TENSOR=4, GRAPH=5, FLOATS=6, INTS=7, STRINGS=8,
  TENSORS=9, GRAPHS=10, SPARSE_TENSOR=11, SPARSE_TENSORS=12
table Checkpoint: Version:int32, ModuleState:ModuleState, OptimizerGroups:[OptimizerGroup],
  PropertyBag:PropertyBag
table DeprecatedKernelCreateInfos: NodeIndices:[uint32], KernelDefHashes:[uint64]
table DeprecatedNodeIndexAndKernelDefHash: NodeIndex:uint32, KernelDefHash:uint64
table DeprecatedSessionState: Kernels:DeprecatedKernelCreateInfos,
  SubGraphSessionStates:[DeprecatedSubGraphSessionState]
table DeprecatedSubGraphSessionState: GraphId:string, SessionState:DeprecatedSessionState
table Dimension: Value:DimensionValue, Denotation:string
table DimensionValue: DimType:int8, DimValue:int64, DimParam:string
enum DimensionValueType: UNKNOWN=0, VALUE=1, PARAM=2
struct EdgeEnd: NodeIndex:uint32, SrcArgIndex:int32, DstArgIndex:int32
table FloatProperty: Name:string, Value:float32
table Graph: Initializers:[Tensor], NodeArgs:[ValueInfo], Nodes:[Node], MaxNodeIndex:uint32,
  NodeEdges:[NodeEdge], Inputs:[string], Outputs:[string], SparseInitializers:[SparseTensor],
  RuntimeOptimizations:RuntimeOptimizations
table InferenceSession: OrtVersion:string, Model:Model, -, KernelTypeStrResolver:KernelTypeStrResolver
table IntProperty: Name:string, Value:int64
table KernelTypeStrArgsEntry: KernelTypeStr:string, Args:[ArgTypeAndIndex]
table KernelTypeStrResolver: OpKernelTypeStrArgs:[OpIdKernelTypeStrArgsEntry]
table MapType: KeyType:int32, ValueType:TypeInfo
table Model: IrVersion:int64, OpsetImport:[OperatorSetId], ProducerName:string, ProducerVersion:string,
  Domain:string, ModelVersion:int64, DocString:string, Graph:Graph, GraphDocString:string,
  MetadataProps:[StringStringEntry]
table ModuleState: RequiresGradParams:[Tensor], FrozenParams:[Tensor], IsNominalState:bool, HasExternalData:bool
table Node: Name:string, DocString:string, Domain:string, SinceVersion:int32, Index:uint32, OpType:string,
  Type:int32, ExecutionProviderType:string, Inputs:[string], Outputs:[string], Attributes:[Attribute],
  InputArgCounts:[int32], ImplicitInputs:[string]
table NodeEdge: NodeIndex:uint32, InputEdges:[EdgeEnd], OutputEdges:[EdgeEnd]
enum NodeType: Primitive=0, Fused=1
table NodesToOptimizeIndices: NodeIndices:[uint32], NumInputs:uint32, NumOutputs:uint32, HasVariadicInput:bool,
  HasVariadicOutput:bool, NumVariadicInputs:uint32, NumVariadicOutputs:uint32
table OpIdKernelTypeStrArgsEntry: OpId:string, KernelTypeStrArgs:[KernelTypeStrArgsEntry]
table OperatorSetId: Domain:string, Version:int64
table OptimizerGroup: GroupName:string, Step:int64, InitialLearningRate:float32,
  OptimizerStates:[ParameterOptimizerState]
table ParameterOptimizerState: ParamName:string, Momentums:[Tensor]
table PropertyBag: Ints:[IntProperty], Floats:[FloatProperty], Strings:[StringProperty]
table RuntimeOptimizationRecord: ActionId:string, NodesToOptimizeIndices:NodesToOptimizeIndices, -,
  ProducedOpIds:[string]
table RuntimeOptimizationRecordContainerEntry: OptimizerName:string,
  RuntimeOptimizationRecords:[RuntimeOptimizationRecord]
table RuntimeOptimizations: Records:[RuntimeOptimizationRecordContainerEntry]
table SequenceType: ElemType:TypeInfo
table Shape: Dim:[Dimension]
table SparseTensor: Values:Tensor, Indices:Tensor, Dims:[int64]
table StringProperty: Name:string, Value:string
table StringStringEntry: Key:string, Value:string
table Tensor: Name:string, DocString:string, Dims:[int64], DataType:int32, RawData:[uint8], StringData:[string],
  ExternalDataOffset:int64=-1
enum TensorDataType: UNDEFINED=0, FLOAT=1, UINT8=2, INT8=3, UINT16=4, INT16=5, INT32=6, INT64=7, STRING=8,
  BOOL=9, FLOAT16=10, DOUBLE=11, UINT32=12, UINT64=13, COMPLEX64=14, COMPLEX128=15, BFLOAT16=16,
  FLOAT8E4M3FN=17, FLOAT8E4M3FNUZ=18, FLOAT8E5M2=19, FLOAT8E5M2FNUZ=20
table TensorTypeAndShape: ElemType:int32, Shape:Shape
table TypeInfo: Denotation:string, ValueType:uint8, Value:union
enum TypeInfoValue: NONE=0, tensor_type=1, sequence_type=2, map_type=3
table ValueInfo: Name:string, DocString:string, Type:TypeInfo
"""
