// ir/text_values.cpp - parses types, tensors and attributes.
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/text_parser.h"

namespace sardonyx {
namespace {

constexpr int kFloat = 1, kInt = 2, kGraph = 5, kFloats = 6, kFirstList = 6, kSparseTensor = 11, kTypeProto = 13;

// The type of an element of a list attribute, and of a list of elements.
int ElementType(int type) {
  if (type == kSparseTensor + 1) return kSparseTensor;
  if (type == kTypeProto + 1) return kTypeProto;
  return type >= kFirstList && type <= kGraph + 5 ? type - 5 : 0;
}
int ListType(int type) { return type == kSparseTensor || type == kTypeProto ? type + 1 : type + 5; }

int AttributeTypeFromName(const std::string& name) {
  for (int type = 1; type <= kTypeProto + 1; ++type) {
    if (AttributeTypeName(type) == name) return type;
  }
  return 0;
}

bool IsTypeWord(const std::string& word) {
  return DTypeFromName(word) != DType::kUndefined || word == "seq" || word == "map" || word == "optional" ||
         word == "sparse_tensor" || word == "opaque";
}

template <typename T>
bool Parsed(const std::string& text, T& number) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

// Too small becomes the nearest subnormal or zero, too large is an error.
template <typename T>
bool ParseReal(const std::string& text, T& number) {
  if (Parsed(text, number)) return true;
  long double wide = 0;
  if (!Parsed(text, wide)) {
    if (text.find("e-") == std::string::npos && text.find("E-") == std::string::npos) return false;
    wide = text.front() == '-' ? -0.0L : 0.0L;  // below what even a long double holds
  }
  number = static_cast<T>(wide);
  return !std::isinf(number);
}

template <typename T>
void Store(void* to, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(to) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

void StoreInteger(DType dtype, void* to, std::int64_t index, std::int64_t value) {
  switch (Bits(dtype)) {
    case 8:
      return Store(to, index, static_cast<std::uint8_t>(value));
    case 16:
      return Store(to, index, static_cast<std::uint16_t>(value));
    case 32:
      return Store(to, index, static_cast<std::uint32_t>(value));
    default:
      return Store(to, index, value);
  }
}

// The bits of `value` as an element of a small float type.
std::int64_t SmallFloatBits(DType dtype, float value) {
  switch (dtype) {
    case DType::kFloat16:
      return Half::FromFloat(value);
    case DType::kBFloat16:
      return BFloat16::FromFloat(value);
    case DType::kFloat8E4M3FN:
      return Float8E4M3FN(value).bits;
    case DType::kFloat8E4M3FNUZ:
      return Float8E4M3FNUZ(value).bits;
    case DType::kFloat8E5M2:
      return Float8E5M2(value).bits;
    case DType::kFloat8E5M2FNUZ:
      return Float8E5M2FNUZ(value).bits;
    case DType::kFloat8E8M0:
      return Float8E8M0(value).bits;
    default:
      return Float4FromFloat(value);
  }
}

bool IsSmallFloat(DType dtype) { return IsFloating(dtype) && Bits(dtype) <= 16; }

// Whether `value` is an element of an integer type or bool, or the bit pattern of a small float.
bool IsInRange(DType dtype, std::int64_t value) {
  const int bits = dtype == DType::kBool ? 1 : Bits(dtype);
  if (bits == 64) return true;
  const std::int64_t limit = std::int64_t{1} << (IsSigned(dtype) ? bits - 1 : bits);
  return value < limit && value >= (IsSigned(dtype) ? -limit : 0);
}

// Numbers of a packed type: bytes if there are as many as the tensor takes, else one number for each element.
bool StorePacked(Tensor& tensor, const std::vector<std::int64_t>& numbers, std::size_t* bad) {
  const int bits = Bits(tensor.dtype());
  const auto bytes = static_cast<std::int64_t>(tensor.byte_size());
  auto* to = tensor.data<std::uint8_t>();
  const bool one = tensor.count() == 1 && IsInRange(tensor.dtype(), numbers[0]);
  const bool packed = static_cast<std::int64_t>(numbers.size()) == bytes && !one;
  if (!packed) std::memset(to, 0, tensor.byte_size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (packed ? numbers[i] < -128 || numbers[i] > 255 : !IsInRange(tensor.dtype(), numbers[i])) {
      *bad = i;
      return false;
    }
    if (packed) {
      to[i] = static_cast<std::uint8_t>(numbers[i]);
    } else {
      const std::size_t bit = i * static_cast<std::size_t>(bits);
      to[bit / 8] = static_cast<std::uint8_t>(to[bit / 8] | (numbers[i] & ((1 << bits) - 1)) << bit % 8);
    }
  }
  return true;
}

template <typename T>
std::vector<T> Gather(std::vector<AttributeValue>& items) {
  std::vector<T> list;
  for (AttributeValue& item : items) list.push_back(std::move(std::get<T>(item)));
  return list;
}

}  // namespace

bool TextParser::NextIsType() { return IsTypeWord(lexer_.PeekName()); }

Dim TextParser::ParseDim() {
  if (lexer_.Take('?')) return {};
  if (lexer_.NextIsQuotableName()) return Dim::Symbol(lexer_.QuotableName("a dimension"));
  const std::size_t at = lexer_.Position();
  const std::int64_t number = ParseInteger("a dimension (a number, a name or '?')");
  if (number < 0) lexer_.FailExpecting("a dimension of at least 0", at);
  return number;
}

// After the element type: nothing for a scalar, [] for an unknown rank, or [dimensions].
Type TextParser::ParseTensorType(DType dtype) {
  if (!lexer_.Take('[')) return Type::TensorOf(dtype, std::vector<Dim>());
  if (lexer_.Take(']')) return Type::TensorOf(dtype);
  std::vector<Dim> dims;
  do {
    dims.push_back(ParseDim());
  } while (lexer_.Take(','));
  lexer_.Expect(']', "or ',' after a dimension");
  return Type::TensorOf(dtype, std::move(dims));
}

Type TextParser::ParseType() {
  const Nesting nesting(*this);
  const std::size_t at = lexer_.Position();
  const std::string word = lexer_.Name("a type");
  if (const DType dtype = DTypeFromName(word); dtype != DType::kUndefined) return ParseTensorType(dtype);
  if (word == "opaque")
    lexer_.FailAt(at, "expected a type, found an opaque one, which is not supported", Code::kNotImplemented);
  if (!IsTypeWord(word)) lexer_.FailExpecting("a type", at);
  lexer_.Expect('(', "before the type inside");
  Type type;
  if (word == "seq") type = Type::SequenceOf(ParseType());
  if (word == "optional") type = Type::OptionalOf(ParseType());
  if (word == "map" || word == "sparse_tensor") {
    const std::size_t element_at = lexer_.Position();
    const DType dtype = DTypeFromName(lexer_.Name("an element type"));
    if (dtype == DType::kUndefined) lexer_.FailExpecting("an element type", element_at);
    if (word == "map") {
      lexer_.Expect(',', "after the type of the keys");
      type = Type::MapOf(dtype, ParseType());
    } else {
      type = ParseTensorType(dtype);
      type.kind = TypeKind::kSparseTensor;
    }
  }
  lexer_.Expect(')', "after the type inside");
  return type;
}

std::vector<Literal> TextParser::ParseLiterals() {
  std::vector<Literal> literals;
  lexer_.Expect('{', "before the elements of a tensor");
  if (lexer_.Take('}')) return literals;
  do {
    literals.push_back(lexer_.TakeLiteral("an element of a tensor"));
  } while (lexer_.Take(','));
  lexer_.Expect('}', "or ',' after an element of a tensor");
  return literals;
}

Tensor TextParser::ParseTensor(const Type& type, std::size_t at) {
  if (!type.is_tensor() || !type.HasStaticShape()) {
    lexer_.FailAt(at, "expected a tensor type whose dimensions are numbers before its data, found " + type.ToText());
  }
  if (lexer_.Peek() == '[') {
    lexer_.FailAt(lexer_.Position(), "expected elements in braces, found external data, which text cannot load",
                  Code::kNotImplemented);
  }
  const std::vector<Literal> literals = ParseLiterals();
  const bool complex = type.dtype == DType::kComplex64 || type.dtype == DType::kComplex128;
  std::int64_t wanted = complex ? 2 : 1;
  bool zero = false, overflow = false;
  for (const Dim& dim : type.dims) {
    zero = zero || dim.number() == 0;
    overflow = __builtin_mul_overflow(wanted, dim.number(), &wanted) || overflow;
  }
  if (zero) wanted = 0;
  const auto found = static_cast<std::int64_t>(literals.size());
  const bool packed = IsSubByte(type.dtype) && !overflow && literals.size() == ByteSize(type.dtype, wanted);
  if ((overflow && !zero) || (found != wanted && !packed)) {
    lexer_.FailAt(at, "expected " + (overflow && !zero ? "more" : std::to_string(wanted)) + " elements for " +
                          type.ToText() + ", found " + std::to_string(found));
  }
  Tensor tensor(type.dtype, type.StaticShape());
  ParseElements(tensor, literals);
  return tensor;
}

void TextParser::ParseElements(Tensor& tensor, const std::vector<Literal>& literals) {
  const DType dtype = tensor.dtype();
  std::vector<std::int64_t> numbers;  // of packed types
  std::int64_t index = 0;
  for (const Literal& literal : literals) {
    const bool is_number = literal.kind != Literal::Kind::kString;
    const std::string expected = "an element of type " + std::string(Name(dtype));
    if (IsString(dtype)) {
      if (is_number) lexer_.FailExpecting(expected, literal.at);
      tensor.data<std::string>()[index++] = literal.text;
      continue;
    }
    std::int64_t integer = 0;
    std::uint64_t wide = 0;
    float real = 0;
    double precise = 0;
    bool good = is_number;
    if (dtype == DType::kFloat || dtype == DType::kComplex64) {
      good = good && ParseReal(literal.text, real);
      if (good) Store(tensor.raw(), index, real);
    } else if (dtype == DType::kDouble || dtype == DType::kComplex128) {
      good = good && ParseReal(literal.text, precise);
      if (good) Store(tensor.raw(), index, precise);
    } else if (dtype == DType::kUInt64) {
      good = good && literal.kind == Literal::Kind::kInteger && Parsed(literal.text, wide);
      if (good) Store(tensor.raw(), index, wide);
    } else {
      if (literal.kind == Literal::Kind::kFloat) {
        good = IsSmallFloat(dtype) && ParseReal(literal.text, real);
        if (good) integer = SmallFloatBits(dtype, real);
      } else {
        good = good && Parsed(literal.text, integer) && (IsSubByte(dtype) || IsInRange(dtype, integer));
      }
      if (good && !IsSubByte(dtype)) StoreInteger(dtype, tensor.raw(), index, integer);
      if (IsSubByte(dtype)) numbers.push_back(integer);
    }
    if (!good) lexer_.FailExpecting(expected, literal.at);
    ++index;
  }
  std::size_t bad = 0;
  if (!numbers.empty() && !StorePacked(tensor, numbers, &bad)) {
    lexer_.FailExpecting("an element of type " + std::string(Name(dtype)), literals[bad].at);
  }
}

// sparse_tensor(float[2,3]) {values} int64[2] {indices}
SparseTensor TextParser::ParseSparseTensor(const Type& type, std::size_t at) {
  if (!type.HasStaticShape()) {
    lexer_.FailAt(at, "expected numbers for the dimensions of a sparse tensor, found " + type.ToText());
  }
  // How many values there are is known from the indices, which come second: read them as a list of their own length.
  SparseTensor sparse;
  sparse.dense_shape = type.StaticShape();
  const std::vector<Literal> literals = ParseLiterals();
  const std::size_t indices_at = lexer_.Position();
  const Type indices = ParseType();
  sparse.indices = ParseTensor(indices, indices_at);
  const Shape& shape = sparse.indices.shape();
  const auto found = static_cast<std::int64_t>(literals.size());
  const bool shaped = shape.rank() == 1 || (shape.rank() == 2 && shape[1] == static_cast<std::int64_t>(type.rank()));
  if (indices.dtype != DType::kInt64 || !shaped || shape[0] != found || IsSubByte(type.dtype) ||
      type.dtype == DType::kComplex64 || type.dtype == DType::kComplex128) {
    lexer_.FailAt(indices_at, "expected int64 indices [" + std::to_string(found) + "] or [" + std::to_string(found) +
                                  ", " + std::to_string(type.rank()) + "] for " + type.ToText() + ", found " +
                                  indices.ToText());
  }
  sparse.values = Tensor(type.dtype, Shape{found});
  ParseElements(sparse.values, literals);
  return sparse;
}

std::vector<Attribute> TextParser::ParseAttributes() {
  std::vector<Attribute> attributes;
  if (!lexer_.Take('<')) return attributes;
  do {
    const std::size_t at = lexer_.Position();
    std::string name = lexer_.QuotableName("the name of an attribute");
    for (const Attribute& other : attributes) {
      if (other.name == name) lexer_.FailAt(at, "expected each attribute once, found '" + name + "' again");
    }
    attributes.push_back(ParseAttribute(std::move(name)));
  } while (lexer_.Take(','));
  lexer_.Expect('>', "or ',' after an attribute");
  return attributes;
}

Attribute TextParser::ParseAttribute(std::string name) {
  Attribute attribute;
  attribute.name = std::move(name);
  int type = 0;
  if (lexer_.Take(':')) {
    const std::size_t at = lexer_.Position();
    type = AttributeTypeFromName(lexer_.Name("the type of an attribute"));
    if (type == 0) lexer_.FailExpecting("the type of an attribute (float, ints, graph ...)", at);
  }
  lexer_.Expect('=', "and a value after the name of an attribute");
  const std::size_t at = lexer_.Position();
  attribute.value = lexer_.Take('[') ? ParseListValue(type, at) : ParseSingleValue(type);
  const int found = AttributeTypeOf(attribute.value);
  if (type != 0 && found != type) {
    lexer_.FailAt(at, "expected a value of type " + std::string(AttributeTypeName(type)) + " for attribute '" +
                          attribute.name + "', found one of type " + std::string(AttributeTypeName(found)));
  }
  return attribute;
}

AttributeValue TextParser::ParseListValue(int type, std::size_t at) {
  if (type != 0 && ElementType(type) == 0) {
    lexer_.FailAt(at, "expected a value of type " + std::string(AttributeTypeName(type)) + ", found a list");
  }
  int element = ElementType(type);
  std::vector<AttributeValue> items;
  if (!lexer_.Take(']')) {
    do {
      const std::size_t item_at = lexer_.Position();
      AttributeValue item = ParseSingleValue(element);
      const int found = std::holds_alternative<AttributeReference>(item) ? 0 : AttributeTypeOf(item);
      if (element == kInt && found == kFloat && type == 0) {  // [1, 2.5] are floats
        for (AttributeValue& earlier : items) earlier = static_cast<float>(std::get<std::int64_t>(earlier));
        element = kFloat;
      }
      if (element == 0) element = found;
      if (found == 0 || found != element) {
        lexer_.FailExpecting("an element of type " + std::string(AttributeTypeName(element)), item_at);
      }
      items.push_back(std::move(item));
    } while (lexer_.Take(','));
    lexer_.Expect(']', "or ',' after an element of a list");
  }
  switch (element == 0 ? 0 : ListType(element)) {
    case 0:
      lexer_.FailAt(at, "expected the type of an empty list (name: ints = []), found none");
    case kFloats:
      return Gather<float>(items);
    case 7:
      return Gather<std::int64_t>(items);
    case 8:
      return Gather<std::string>(items);
    case 9:
      return Gather<Tensor>(items);
    case 10:
      return Gather<GraphBox>(items);
    case 12:
      return Gather<SparseTensor>(items);
    default:
      return Gather<Type>(items);
  }
}

AttributeValue TextParser::ParseSingleValue(int expected) {
  if (lexer_.Take('@')) return AttributeReference{lexer_.QuotableName("the name of an attribute"), expected};
  if (lexer_.NextIsName() && !lexer_.NextIsFloatWord()) return ParseNamedValue();
  Literal literal = lexer_.TakeLiteral("the value of an attribute");
  if (literal.kind == Literal::Kind::kString) {
    if (lexer_.Peek() == '(') return GraphBox(ParseGraph(std::move(literal.text), Place::kSubgraph));
    return std::move(literal.text);
  }
  if (literal.kind == Literal::Kind::kInteger && expected != kFloat) {
    std::int64_t integer = 0;
    if (!Parsed(literal.text, integer)) lexer_.FailExpecting("an integer of 64 bits", literal.at);
    return integer;
  }
  float real = 0;
  if (!ParseReal(literal.text, real)) lexer_.FailExpecting("a number of type float", literal.at);
  return real;
}

// What begins with a name: a type, a tensor (its type comes first, then perhaps a name) or a graph.
AttributeValue TextParser::ParseNamedValue() {
  if (!NextIsType()) {
    return GraphBox(ParseGraph(lexer_.Name("the name of a graph"), Place::kSubgraph));
  }
  const std::size_t at = lexer_.Position();
  Type type = ParseType();
  const bool named = lexer_.NextIsQuotableName();
  if (!named && lexer_.Peek() != '{' && lexer_.Peek() != '=') return type;
  if (named) lexer_.QuotableName("the name of a tensor");  // has no meaning
  lexer_.Take('=');
  if (type.kind == TypeKind::kSparseTensor) return ParseSparseTensor(type, at);
  return ParseTensor(type, at);
}

}  // namespace sardonyx
