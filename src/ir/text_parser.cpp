// ir/text_parser.cpp - parses models, functions, graphs and nodes.
#include "ir/text_parser.h"

#include <charconv>

#include "ir/text.h"
#include "ir/verify.h"

namespace sardonyx {
namespace {

// onnx 1.23
constexpr std::int64_t kNewestIrVersion = 14;
constexpr std::int64_t kNewestOpset = 28;
constexpr std::int64_t kNewestMlOpset = 5;
constexpr int kMaxNesting = 100;

void SetOpsets(Graph& graph, const std::vector<OpsetImport>& imports) {
  graph.opset_imports = imports;
  for (Node& node : graph.nodes) {
    for (Graph* subgraph : node.Subgraphs()) SetOpsets(*subgraph, imports);
  }
}

}  // namespace

TextParser::Nesting::Nesting(TextParser& parser) : parser_(parser) {
  if (++parser_.depth_ <= kMaxNesting) return;
  --parser_.depth_;
  parser_.lexer_.FailExpecting("at most " + std::to_string(kMaxNesting) + " levels of nesting");
}

std::int64_t TextParser::ParseInteger(const char* what) {
  const Literal literal = lexer_.TakeLiteral(what);
  std::int64_t number = 0;
  const char* end = literal.text.data() + literal.text.size();
  const auto [at, error] = std::from_chars(literal.text.data(), end, number);
  if (literal.kind != Literal::Kind::kInteger || error != std::errc() || at != end) {
    lexer_.FailExpecting(std::string(what) + " of 64 bits", literal.at);
  }
  return number;
}

std::vector<OpsetImport> TextParser::ParseOpsetImports() {
  std::vector<OpsetImport> imports;
  lexer_.Expect('[', "before the imported opsets");
  if (lexer_.Take(']')) return imports;
  do {
    OpsetImport import;
    import.domain = lexer_.String("a domain in quotes");
    lexer_.Expect(':', "after a domain");
    import.version = ParseInteger("an opset version");
    imports.push_back(std::move(import));
  } while (lexer_.Take(','));
  lexer_.Expect(']', "or ',' after an imported opset");
  return imports;
}

std::vector<std::pair<std::string, std::string>> TextParser::ParseMetadata() {
  std::vector<std::pair<std::string, std::string>> metadata;
  lexer_.Expect('[', "before the metadata");
  if (lexer_.Take(']')) return metadata;
  do {
    std::string key = lexer_.String("a key in quotes");
    lexer_.Expect(':', "after a key");
    metadata.emplace_back(std::move(key), lexer_.String("a value in quotes"));
  } while (lexer_.Take(','));
  lexer_.Expect(']', "or ',' after a value");
  return metadata;
}

void TextParser::ParseModelHeader(Model& model) {
  if (!lexer_.Take('<')) return;
  do {
    const std::size_t at = lexer_.Position();
    const std::string key = lexer_.Name("a property of the model");
    lexer_.Expect(':', "after a property's name");
    if (key == "ir_version") {
      model.ir_version = ParseInteger("an IR version");
    } else if (key == "opset_import") {
      model.opset_imports = ParseOpsetImports();
    } else if (key == "producer_name") {
      model.producer_name = lexer_.String("a string");
    } else if (key == "producer_version") {
      model.producer_version = lexer_.String("a string");
    } else if (key == "domain") {
      model.domain = lexer_.String("a string");
    } else if (key == "model_version") {
      model.model_version = ParseInteger("a model version");
    } else if (key == "doc_string") {
      model.doc = lexer_.String("a string");
    } else if (key == "metadata_props") {
      model.metadata = ParseMetadata();
    } else {
      lexer_.FailExpecting(
          "ir_version, opset_import, producer_name, producer_version, domain, model_version, doc_string or "
          "metadata_props",
          at);
    }
  } while (lexer_.Take(','));
  lexer_.Expect('>', "or ',' after a property of the model");
}

Model TextParser::ParseModel() {
  Model model;
  ParseModelHeader(model);
  if (model.ir_version == 0) model.ir_version = kNewestIrVersion;
  ir_version_ = model.ir_version;
  model.graph = ParseGraph(lexer_.QuotableName("the name of the graph"), Place::kMain);
  if (model.opset_imports.empty()) model.opset_imports = NewestOpsets();
  SetOpsets(model.graph, model.opset_imports);
  while (!lexer_.AtEnd()) model.functions.push_back(ParseFunction());
  return model;
}

Graph TextParser::ParseOnlyGraph() {
  ir_version_ = kNewestIrVersion;
  Graph graph = ParseGraph(lexer_.QuotableName("the name of the graph"), Place::kMain);
  if (!lexer_.AtEnd()) lexer_.FailExpecting("the end of the text after the graph");
  SetOpsets(graph, NewestOpsets());
  return graph;
}

std::vector<OpsetImport> TextParser::NewestOpsets() const {
  std::vector<OpsetImport> imports = {{"", kNewestOpset}};
  for (const std::string& domain : domains_) {
    if (domain.empty() || domain == "ai.onnx") continue;
    imports.push_back({domain, domain == "ai.onnx.ml" ? kNewestMlOpset : 1});
  }
  return imports;
}

Function TextParser::ParseFunction() {
  Function function;
  std::vector<OpsetImport> imports;
  if (lexer_.Take('<')) {
    do {
      const std::size_t at = lexer_.Position();
      const std::string key = lexer_.Name("a property of the function");
      lexer_.Expect(':', "after a property's name");
      if (key == "opset_import") {
        imports = ParseOpsetImports();
      } else if (key == "domain") {
        function.domain = lexer_.String("a string");
      } else if (key == "overload") {
        function.overload = lexer_.String("a string");
      } else if (key == "doc_string") {
        function.doc = lexer_.String("a string");
      } else {
        lexer_.FailExpecting("domain, opset_import, overload or doc_string", at);
      }
    } while (lexer_.Take(','));
    lexer_.Expect('>', "or ',' after a property of the function");
  }
  function.name = lexer_.QuotableName("the name of a function, or the end of the text");
  if (lexer_.Take('<')) {
    do {
      std::string name = lexer_.QuotableName("the name of an attribute");
      if (lexer_.Peek() == ':' || lexer_.Peek() == '=') {
        function.attribute_defaults.push_back(ParseAttribute(std::move(name)));
      } else {
        function.attributes.push_back(std::move(name));
      }
    } while (lexer_.Take(','));
    lexer_.Expect('>', "or ',' after an attribute of the function");
  }
  GraphParts parts;
  parts.name = function.name;
  parts.inputs = ParseDeclarations('(', ')', false, "the inputs");
  lexer_.ExpectArrow();
  parts.outputs = ParseDeclarations('(', ')', false, "the outputs");
  if (lexer_.Peek() == '<') parts.inner = ParseDeclarations('<', '>', false, "the value types");
  parts.nodes = ParseNodes();
  function.body = Build(std::move(parts), Place::kMain);
  SetOpsets(function.body, imports.empty() ? NewestOpsets() : imports);
  return function;
}

Graph TextParser::ParseGraph(std::string name, Place place) {
  const Nesting nesting(*this);
  GraphParts parts;
  parts.name = std::move(name);
  parts.inputs = ParseDeclarations('(', ')', true, "the inputs");
  lexer_.ExpectArrow();
  parts.outputs = ParseDeclarations('(', ')', false, "the outputs");
  if (lexer_.Peek() == '<') parts.inner = ParseDeclarations('<', '>', true, "initializers and types");
  parts.nodes = ParseNodes();
  return Build(std::move(parts), place);
}

TextParser::Declaration TextParser::ParseDeclaration(bool may_have_data) {
  Declaration declaration;
  declaration.at = lexer_.Position();
  if (NextIsType()) declaration.type = ParseType();
  declaration.name = lexer_.QuotableName("the name of a value");
  if (may_have_data && lexer_.Take('=')) declaration.data = ParseTensor(declaration.type, declaration.at);
  return declaration;
}

std::vector<TextParser::Declaration> TextParser::ParseDeclarations(char open, char close, bool may_have_data,
                                                                   const char* what) {
  std::vector<Declaration> declarations;
  lexer_.Expect(open, (std::string("before ") + what).c_str());
  if (lexer_.Take(close)) return declarations;
  do {
    declarations.push_back(ParseDeclaration(may_have_data));
  } while (lexer_.Take(','));
  lexer_.Expect(close, (std::string("or ',' in ") + what).c_str());
  return declarations;
}

// "a, b", where a name may be missing: "" or nothing before a comma.
std::vector<TextParser::ValueName> TextParser::ParseValueNames() {
  std::vector<ValueName> names;
  do {
    ValueName next;
    next.at = lexer_.Position();
    if (lexer_.NextIsQuotableName()) {
      next.name = lexer_.QuotableName("the name of a value");
    } else if (lexer_.Peek() != ',') {
      break;
    }
    names.push_back(std::move(next));
  } while (lexer_.Take(','));
  return names;
}

std::vector<TextParser::NamedNode> TextParser::ParseNodes() {
  std::vector<NamedNode> nodes;
  lexer_.Expect('{', "before the nodes");
  while (!lexer_.Take('}')) {
    if (lexer_.AtEnd()) lexer_.FailExpecting("a node or '}'");
    nodes.push_back(ParseNode());
  }
  return nodes;
}

TextParser::NamedNode TextParser::ParseNode() {
  NamedNode named;
  if (lexer_.Take('[')) {
    if (lexer_.NextIsQuotableName()) named.node.name = lexer_.QuotableName("the name of a node");
    lexer_.Expect(']', "after the name of a node");
  }
  named.at = lexer_.Position();
  named.outputs = ParseValueNames();
  lexer_.Expect('=', "and an operator after the outputs of a node");
  ParseOperator(named.node);
  named.node.attributes = ParseAttributes();
  lexer_.Expect('(', "before the inputs of a node");
  named.inputs = ParseValueNames();
  lexer_.Expect(')', "or ',' after an input of a node");
  if (named.node.attributes.empty()) named.node.attributes = ParseAttributes();
  return named;
}

// domain.with.dots.OpType:overload
void TextParser::ParseOperator(Node& node) {
  node.op_type = lexer_.QuotableName("the name of an operator");
  while (lexer_.Take('.')) {
    node.domain += (node.domain.empty() ? "" : ".") + node.op_type;
    node.op_type = lexer_.QuotableName("the name of an operator");
  }
  if (lexer_.Take(':')) node.overload = lexer_.QuotableName("the overload of an operator");
  domains_.insert(node.domain);
}

Model ParseModel(std::string_view text) { return TextParser(text).ParseModel(); }
Graph ParseGraph(std::string_view text) { return TextParser(text).ParseOnlyGraph(); }

}  // namespace sardonyx
