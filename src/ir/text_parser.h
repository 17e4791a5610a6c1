// ir/text_parser.h - a recursive descent parser of ONNX's text syntax. The text first becomes declarations and nodes
// that name their values; a graph is built from them when its closing brace is read, so nodes may come in any order.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/text_lexer.h"

namespace sardonyx {

class TextParser {
 public:
  explicit TextParser(std::string_view text) : lexer_(text) {}
  Model ParseModel();
  Graph ParseOnlyGraph();

 private:
  // The declaration of a value, in the lists of inputs and outputs or between '<' and '>'.
  struct Declaration {
    std::string name;
    Type type;                   // kNone if not stated
    std::optional<Tensor> data;  // of an initializer, or the default of an input
    std::size_t at = 0;
  };
  struct ValueName {
    std::string name;
    std::size_t at = 0;
  };
  struct NamedNode {
    Node node;
    std::vector<ValueName> inputs, outputs;
    std::size_t at = 0;
  };
  struct GraphParts {
    std::string name;
    std::vector<Declaration> inputs, outputs, inner;
    std::vector<NamedNode> nodes;
  };
  enum class Place { kMain, kSubgraph };

  // Counts how deep graphs and types are nested; fails before the stack could overflow.
  class Nesting {
   public:
    explicit Nesting(TextParser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TextParser& parser_;
  };

  // text_parser.cpp: models, functions, graphs, nodes
  void ParseModelHeader(Model& model);
  Function ParseFunction();
  std::vector<OpsetImport> ParseOpsetImports();
  std::vector<std::pair<std::string, std::string>> ParseMetadata();
  std::int64_t ParseInteger(const char* what);
  Graph ParseGraph(std::string name, Place place);
  Declaration ParseDeclaration(bool may_have_data);
  std::vector<Declaration> ParseDeclarations(char open, char close, bool may_have_data, const char* what);
  std::vector<ValueName> ParseValueNames();
  std::vector<NamedNode> ParseNodes();
  NamedNode ParseNode();
  void ParseOperator(Node& node);
  std::vector<OpsetImport> NewestOpsets() const;

  // text_builder.cpp: from parts to a graph
  Graph Build(GraphParts parts, Place place);
  ValueId Declare(Graph& graph, const std::string& name, std::size_t at);
  void AddInitializer(Graph& graph, ValueId value, Tensor data) const;
  ValueId Resolve(Graph& graph, const ValueName& use, Place place);

  // text_values.cpp: types, tensors, attributes
  bool NextIsType();
  Type ParseType();
  Type ParseTensorType(DType dtype);
  Dim ParseDim();
  Tensor ParseTensor(const Type& type, std::size_t at);
  std::vector<Literal> ParseLiterals();
  void ParseElements(Tensor& tensor, const std::vector<Literal>& literals);
  SparseTensor ParseSparseTensor(const Type& type, std::size_t at);
  std::vector<Attribute> ParseAttributes();
  Attribute ParseAttribute(std::string name);
  AttributeValue ParseListValue(int type, std::size_t at);
  AttributeValue ParseSingleValue(int expected);
  AttributeValue ParseNamedValue();

  TextLexer lexer_;
  int depth_ = 0;
  std::int64_t ir_version_ = 0;
  std::set<std::string> domains_;  // of the operators read so far
};

}  // namespace sardonyx
