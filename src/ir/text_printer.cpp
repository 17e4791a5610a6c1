// ir/text_printer.cpp - prints models and graphs in ONNX's text syntax. Attributes are printed without their type where
// the value shows it ("axis = 1", "alpha = 0.5"); onnx.parser reads both forms.
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "ir/identifier.h"
#include "ir/model_version.h"
#include "ir/tensor_text.h"
#include "ir/text.h"

namespace sardonyx {
namespace {

constexpr std::size_t kLineLength = 100;  // lists longer than this are printed one item a line

// What begins a type or a number when it stands where a name may stand; such names are quoted.
bool IsReserved(std::string_view name) {
  for (const std::string_view word : {"seq", "map", "optional", "sparse_tensor", "opaque"}) {
    if (name == word) return true;
  }
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower == "inf" || lower == "infinity" || lower == "nan" || DTypeFromName(name) != DType::kUndefined;
}

std::string NameText(std::string_view name) { return IsReserved(name) ? Quoted(name) : QuotedUnlessIdentifier(name); }

template <typename T>
void AppendNumber(std::string& text, T number) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(number)) {
      text += std::signbit(number) ? "-nan" : "nan";
      return;
    }
  }
  std::array<char, 48> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// With a point or exponent, so that it does not read as an integer.
void AppendFloat(std::string& text, float number) {
  const std::size_t begin = text.size();
  AppendNumber(text, number);
  if (text.find_first_of(".en", begin) == std::string::npos) text += ".0";
}

template <typename T>
void AppendElements(std::string& text, const void* data, std::int64_t count) {
  const char* from = static_cast<const char*>(data);
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    if (i != 0) text += ", ";
    AppendNumber(text, value);
  }
}

// "{1, 2}". Small floats are bit patterns and packed types bytes, as onnx.parser wants them.
void AppendData(std::string& text, const Tensor& tensor) {
  const std::int64_t count = tensor.count();
  const void* data = tensor.raw();
  text += '{';
  switch (tensor.dtype()) {
    case DType::kFloat:
      AppendElements<float>(text, data, count);
      break;
    case DType::kComplex64:
      AppendElements<float>(text, data, count * 2);
      break;
    case DType::kDouble:
      AppendElements<double>(text, data, count);
      break;
    case DType::kComplex128:
      AppendElements<double>(text, data, count * 2);
      break;
    case DType::kInt8:
      AppendElements<std::int8_t>(text, data, count);
      break;
    case DType::kInt16:
      AppendElements<std::int16_t>(text, data, count);
      break;
    case DType::kInt32:
      AppendElements<std::int32_t>(text, data, count);
      break;
    case DType::kInt64:
      AppendElements<std::int64_t>(text, data, count);
      break;
    case DType::kUInt32:
      AppendElements<std::uint32_t>(text, data, count);
      break;
    case DType::kUInt64:
      AppendElements<std::uint64_t>(text, data, count);
      break;
    case DType::kString:
      for (std::int64_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + Quoted(tensor.data<std::string>()[i]);
      break;
    default:
      if (Bits(tensor.dtype()) == 16) {
        AppendElements<std::uint16_t>(text, data, count);
      } else {
        AppendElements<std::uint8_t>(text, data, static_cast<std::int64_t>(tensor.byte_size()));
      }
  }
  text += '}';
}

std::string TensorTypeText(const Tensor& tensor) {
  return Type::TensorOf(tensor.dtype(), Dims(tensor.shape())).ToText();
}

// Whether the type, down to its elements, has a form in the syntax.
bool HasText(const Type& type) {
  switch (type.kind) {
    case TypeKind::kNone:
      return false;
    case TypeKind::kTensor:
    case TypeKind::kSparseTensor:
      return type.dtype != DType::kUndefined;
    case TypeKind::kMap:
      return type.dtype != DType::kUndefined && type.element && HasText(*type.element);
    default:
      return type.element && HasText(*type.element);
  }
}

std::string Declared(const ValueInfo& value) {
  return (HasText(value.type) ? value.type.ToText() + " " : "") + NameText(value.name);
}

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  void Print(const Model& model);
  void Print(const Graph& graph);
  std::string TakeText() { return std::move(text_); }

 private:
  struct Item {
    std::string text;
    std::string comment;  // ends the line
  };

  void NewLine() { text_.append("\n").append(static_cast<std::size_t>(indent_), ' '); }
  template <typename Items, typename PrintOne>
  void PrintList(const Items& items, PrintOne&& print_one) {
    const char* separator = "";
    for (const auto& item : items) {
      text_ += separator;
      print_one(item);
      separator = ", ";
    }
  }
  void PrintProperties(const std::vector<std::string>& properties);
  void PrintSignature(const Graph& graph, bool types);
  void PrintInner(const Graph& graph);
  void PrintItems(const std::vector<Item>& items);
  void PrintNodes(const Graph& graph);
  void PrintNode(const Graph& graph, const Node& node);
  void PrintAttributes(const std::vector<Attribute>& attributes);
  void PrintAttribute(const Attribute& attribute);
  void PrintTensor(const Tensor& tensor);
  void PrintFunction(const Function& function);
  bool IsTooLarge(const Tensor& tensor) const {
    return tensor.count() > options_.max_elements ||
           (tensor.raw() == nullptr && tensor.byte_size() != 0);  // bytes given back
  }
  // Whether the default of an input fits behind its type: float[3] x = {1, 2, 3}, but not float[N] x.
  bool HasDefaultHere(const ValueInfo& value) const {
    return value.initializer && value.type.HasStaticShape() && !IsTooLarge(value.initializer->tensor) &&
           value.type.StaticShape() == value.initializer->tensor.shape();
  }

  // The value of an attribute, by kind.
  void PrintValue(float value) { AppendFloat(text_, value); }
  void PrintValue(std::int64_t value) { AppendNumber(text_, value); }
  void PrintValue(const std::string& value) { text_ += Quoted(value); }
  void PrintValue(const Tensor& value) { PrintTensor(value); }
  void PrintValue(const GraphBox& value) { Print(*value); }
  void PrintValue(const Type& value) { text_ += value.ToText(); }
  void PrintValue(const SparseTensor& value);
  void PrintValue(const AttributeReference& value) { text_ += "@" + QuotedUnlessIdentifier(value.name); }
  void PrintValue(std::monostate) {}
  template <typename T>
  void PrintValue(const std::vector<T>& values) {
    text_ += '[';
    PrintList(values, [this](const T& value) { PrintValue(value); });
    text_ += ']';
  }

  TextOptions options_;
  std::string text_;
  int indent_ = 0;
};

std::string OpsetsText(const std::vector<OpsetImport>& imports) {
  std::string text = "opset_import: [";
  for (const OpsetImport& import : imports) {
    text += (text.back() == '[' ? "" : ", ") + Quoted(import.domain) + " : " + std::to_string(import.version);
  }
  return text + "]";
}

void Printer::PrintProperties(const std::vector<std::string>& properties) {
  text_ += "<\n";
  for (std::size_t i = 0; i < properties.size(); ++i) {
    text_ += "  " + properties[i] + (i + 1 < properties.size() ? ",\n" : "\n");
  }
  text_ += ">\n";
}

void Printer::Print(const Model& model) {
  std::vector<std::string> properties = {"ir_version: " + std::to_string(model.ir_version),
                                         OpsetsText(model.opset_imports)};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) properties.push_back(key + (": " + Quoted(value)));
  };
  add("producer_name", model.producer_name);
  add("producer_version", model.producer_version);
  add("domain", model.domain);
  if (model.model_version != 0 && model.model_version != kNoModelVersion)
    properties.push_back("model_version: " + std::to_string(model.model_version));
  add("doc_string", model.doc);
  if (!model.metadata.empty()) {
    std::string text = "metadata_props: [";
    for (const auto& [key, value] : model.metadata) {
      text += (text.back() == '[' ? "" : ", ") + Quoted(key) + ": " + Quoted(value);
    }
    properties.push_back(text + "]");
  }
  PrintProperties(properties);
  Print(model.graph);
  text_ += '\n';
  for (const Function& function : model.functions) PrintFunction(function);
}

void Printer::PrintFunction(const Function& function) {
  std::vector<std::string> properties = {"domain: " + Quoted(function.domain), OpsetsText(function.body.opset_imports)};
  if (!function.overload.empty()) properties.push_back("overload: " + Quoted(function.overload));
  if (!function.doc.empty()) properties.push_back("doc_string: " + Quoted(function.doc));
  PrintProperties(properties);
  text_ += NameText(function.name) + " ";
  if (!function.attributes.empty() || !function.attribute_defaults.empty()) {
    text_ += '<';
    PrintList(function.attributes, [this](const std::string& name) { text_ += QuotedUnlessIdentifier(name); });
    if (!function.attributes.empty() && !function.attribute_defaults.empty()) text_ += ", ";
    PrintList(function.attribute_defaults, [this](const Attribute& attribute) { PrintAttribute(attribute); });
    text_ += "> ";
  }
  PrintSignature(function.body, options_.value_types);
  PrintInner(function.body);
  PrintNodes(function.body);
  text_ += '\n';
}

void Printer::Print(const Graph& graph) {
  text_ += NameText(graph.name) + " ";
  PrintSignature(graph, true);
  PrintInner(graph);
  PrintNodes(graph);
}

void Printer::PrintSignature(const Graph& graph, bool types) {
  text_ += '(';
  PrintList(graph.inputs, [&](ValueId id) {
    const ValueInfo& value = graph.value(id);
    text_ += types ? Declared(value) : NameText(value.name);
    if (!HasDefaultHere(value)) return;
    text_ += " = ";
    AppendData(text_, value.initializer->tensor);
  });
  text_ += ") => (";
  PrintList(graph.outputs,
            [&](ValueId id) { text_ += types ? Declared(graph.value(id)) : NameText(graph.value(id).name); });
  text_ += ") ";
}

// Initializers and the defaults that the inputs' types have no place for, then the types of the values that nodes make.
void Printer::PrintInner(const Graph& graph) {
  std::vector<Item> items;
  for (const ValueInfo& value : graph.values) {
    if (!value.initializer || value.is_captured || (value.is_input && HasDefaultHere(value))) continue;
    const Tensor& tensor = value.initializer->tensor;
    Item& item = items.emplace_back();
    item.text = TensorTypeText(tensor) + " " + NameText(value.name);
    if (IsTooLarge(tensor)) {
      item.comment = std::to_string(tensor.count()) + " elements are not shown";
    } else {
      item.text += " = ";
      AppendData(item.text, tensor);
    }
  }
  for (const ValueInfo& value : graph.values) {
    if (!options_.value_types || value.producer == kNoNode || value.is_output || !HasText(value.type)) continue;
    items.push_back({Declared(value), {}});
  }
  if (!items.empty()) PrintItems(items);
}

void Printer::PrintItems(const std::vector<Item>& items) {
  std::size_t length = 0;
  for (const Item& item : items) length += item.comment.empty() ? item.text.size() + 2 : kLineLength;
  if (length < kLineLength) {
    text_ += '<';
    PrintList(items, [this](const Item& item) { text_ += item.text; });
    text_ += "> ";
    return;
  }
  text_ += '<';
  indent_ += 2;
  for (const Item& item : items) {
    NewLine();
    text_ += item.text + (&item == &items.back() ? "" : ",");
    if (!item.comment.empty()) text_ += "  # " + item.comment;
  }
  indent_ -= 2;
  NewLine();
  text_ += "> ";
}

void Printer::PrintNodes(const Graph& graph) {
  text_ += '{';
  indent_ += 2;
  for (const NodeId id : graph.order) PrintNode(graph, graph.node(id));
  indent_ -= 2;
  NewLine();
  text_ += '}';
}

void Printer::PrintNode(const Graph& graph, const Node& node) {
  NewLine();
  const auto print_name = [&](ValueId id) { text_ += id == kNoValue ? "\"\"" : NameText(graph.value(id).name); };
  if (options_.node_names && !node.name.empty()) text_ += "[" + NameText(node.name) + "] ";
  PrintList(node.outputs, print_name);
  text_ += node.outputs.empty() ? "= " : " = ";
  for (std::size_t begin = 0; begin < node.domain.size();) {
    const std::size_t end = std::min(node.domain.find('.', begin), node.domain.size());
    text_ += QuotedUnlessIdentifier(std::string_view(node.domain).substr(begin, end - begin)) + ".";
    begin = end + 1;
  }
  text_ += QuotedUnlessIdentifier(node.op_type);
  if (!node.overload.empty()) text_ += ":" + QuotedUnlessIdentifier(node.overload);
  const bool attributes_last = !node.Subgraphs().empty();
  if (!node.attributes.empty() && !attributes_last) {
    PrintAttributes(node.attributes);
    text_ += ' ';
  }
  text_ += '(';
  PrintList(node.inputs, print_name);
  text_ += ')';
  if (attributes_last) PrintAttributes(node.attributes);
}

void Printer::PrintAttributes(const std::vector<Attribute>& attributes) {
  text_ += " <";
  PrintList(attributes, [this](const Attribute& attribute) { PrintAttribute(attribute); });
  text_ += '>';
}

void Printer::PrintAttribute(const Attribute& attribute) {
  text_ += QuotedUnlessIdentifier(attribute.name);
  const int type = AttributeTypeOf(attribute.value);
  const bool reference = std::holds_alternative<AttributeReference>(attribute.value);
  const bool empty = std::visit(
      [](const auto& value) {
        if constexpr (requires { value.empty(); }) return value.empty();
        return false;
      },
      attribute.value);
  if (type != 0 && (reference || empty)) text_ += ": " + std::string(AttributeTypeName(type));
  text_ += " = ";
  std::visit([this](const auto& value) { PrintValue(value); }, attribute.value);
}

void Printer::PrintTensor(const Tensor& tensor) {
  text_ += TensorTypeText(tensor) + " ";
  if (!IsTooLarge(tensor)) return AppendData(text_, tensor);
  text_ += "{}  # " + std::to_string(tensor.count()) + " elements are not shown";
  NewLine();
}

void Printer::PrintValue(const SparseTensor& value) {
  text_ += "sparse_tensor(" + Type::TensorOf(value.values.dtype(), Dims(value.dense_shape)).ToText() + ") ";
  AppendData(text_, value.values);
  text_ += ' ';
  PrintTensor(value.indices);
}

}  // namespace

std::string DataText(const Tensor& tensor) {
  std::string text;
  AppendData(text, tensor);
  return text;
}

std::string ToText(const Model& model, const TextOptions& options) {
  Printer printer(options);
  printer.Print(model);
  return printer.TakeText();
}

std::string ToText(const Graph& graph, const TextOptions& options) {
  Printer printer(options);
  printer.Print(graph);
  return printer.TakeText() + "\n";
}

}  // namespace sardonyx
