// tools/cli/inputs.cpp - makes the inputs of a run as the command line describes them.
#include "inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "commands.h"
#include "tensor_file.h"

namespace sardonyx::cli {
namespace {

[[noreturn]] void Invalid(const std::string& message) { throw Failure(ORT_INVALID_ARGUMENT, message); }

void CheckName(const std::string& name, const std::vector<ValueDescription>& wanted, const std::string& option) {
  if (std::ranges::find(wanted, name, &ValueDescription::name) == wanted.end()) {
    Invalid(option + ": the model has no input '" + name + "'; its inputs are " + Names(wanted));
  }
}

bool IsTensorFile(const std::string& text) {
  const std::string suffix = std::filesystem::path(text).extension().string();
  return suffix == ".npy" || suffix == ".npz" || suffix == ".pb";
}

double ParseNumber(const std::string& text, const std::string& option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    Invalid(option + ": expected a number, a file that ends in .npy, .npz or .pb, or an image, found '" + text + "'");
  }
  return value;
}

std::vector<std::int64_t> ParseShape(const std::string& text) {
  std::vector<std::int64_t> shape;
  const char* at = text.data();
  const char* stop = at + text.size();
  while (at < stop) {
    std::int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, stop, dim);
    if (error != std::errc() || dim < 0 || (next < stop && *next != 'x' && *next != ',')) {
      Invalid("--shape: expected numbers with x between them, as in 1x3x224x224, found '" + text + "'");
    }
    shape.push_back(dim);
    at = next < stop ? next + 1 : next;
  }
  return shape;
}

// What --input, --dim and --shape set, by name.
struct Wishes {
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, std::string> sources;
  std::map<std::string, double> numbers;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::vector<std::int64_t>> shapes;
};

// An image is for the input `name`, or, without a name, for the model's only input.
void AddImage(Wishes& wishes, std::string name, const std::string& file, const std::vector<ValueDescription>& wanted,
              const ImageSettings& settings) {
  if (name.empty()) {
    if (wanted.size() != 1)
      Invalid("--input: expected NAME=" + file + ", because the model has " + std::to_string(wanted.size()) +
              " inputs: " + Names(wanted));
    name = wanted[0].name;
  }
  const ValueDescription& value = *std::ranges::find(wanted, name, &ValueDescription::name);
  if (value.kind != ONNX_TYPE_TENSOR) Invalid("input '" + name + "': expected a tensor for the image '" + file + "'");
  wishes.tensors[name] = ImageTensor(file, value, settings);
  wishes.sources[name] = file;
}

void AddFile(Wishes& wishes, const std::string& name, const std::string& file,
             const std::vector<ValueDescription>& wanted, const ImageSettings& image) {
  if (IsImageFile(file)) return AddImage(wishes, name, file, wanted, image);
  std::vector<HostTensor> tensors = ReadTensors(file);
  if (!name.empty()) {
    auto found = std::ranges::find(tensors, name, &HostTensor::name);
    if (tensors.size() > 1 && found == tensors.end())
      Invalid("--input: '" + file + "' does not contain '" + name + "'");
    if (tensors.empty()) Invalid("--input: '" + file + "' does not contain a tensor");
    HostTensor tensor = std::move(found == tensors.end() ? tensors[0] : *found);
    wishes.tensors[name] = std::move(tensor);
    wishes.sources[name] = file;
    return;
  }
  if (tensors.size() == 1 && wanted.size() == 1 && tensors[0].name.empty()) tensors[0].name = wanted[0].name;
  for (HostTensor& tensor : tensors) {
    if (tensor.name.empty())
      Invalid("--input: '" + file + "' contains no name: write NAME=" + file + "; the inputs are " + Names(wanted));
    CheckName(tensor.name, wanted, "--input " + file);
    wishes.sources[tensor.name] = file;
    wishes.tensors[tensor.name] = std::move(tensor);
  }
}

Wishes ParseWishes(const std::vector<ValueDescription>& wanted, const InputArguments& arguments) {
  Wishes wishes;
  for (const std::string& text : arguments.values) {
    if (text.find('=') == std::string::npos || std::filesystem::exists(text)) {
      AddFile(wishes, "", text, wanted, arguments.image);
      continue;
    }
    const auto [name, value] = SplitPair(text, "--input");
    CheckName(name, wanted, "--input");
    if (IsTensorFile(value) || IsImageFile(value)) {
      AddFile(wishes, name, value, wanted, arguments.image);
    } else {
      wishes.numbers[name] = ParseNumber(value, "--input " + name);
      wishes.sources[name] = value;
    }
  }
  for (const auto& [name, value] : ParseDims(arguments.dims)) wishes.dims[name] = value;
  wishes.shapes = ParseShapes(arguments.shapes, wanted);
  return wishes;
}

std::vector<std::int64_t> ChooseShape(const ValueDescription& value, const Wishes& wishes,
                                      std::vector<std::string>& assumed) {
  if (const auto found = wishes.shapes.find(value.name); found != wishes.shapes.end()) return found->second;
  if (!value.has_shape)
    Invalid("input '" + value.name + "' has an unknown rank: set its shape with --shape " + value.name + "=1x2x3");
  std::vector<std::int64_t> shape = value.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    shape[i] = 1;
    if (const auto found = wishes.dims.find(value.symbols[i]); found != wishes.dims.end()) {
      shape[i] = found->second;
    } else {
      const std::string& symbol = value.symbols[i];
      const std::string what = symbol.empty() ? "dimension " + std::to_string(i) + " of '" + value.name + "'" : symbol;
      if (std::ranges::find(assumed, what) == assumed.end()) assumed.push_back(what);
    }
  }
  return shape;
}

// A --dim that no input has is probably misspelled; the run would use another size than the user wants.
void CheckDims(const std::vector<ValueDescription>& wanted, const Wishes& wishes) {
  std::string known;
  for (const ValueDescription& value : wanted) {
    for (const std::string& symbol : value.symbols) {
      if (!symbol.empty() && known.find("'" + symbol + "'") == std::string::npos) {
        known += (known.empty() ? "'" : ", '") + symbol + "'";
      }
    }
  }
  for (const auto& [name, value] : wishes.dims) {
    if (known.find("'" + name + "'") == std::string::npos) {
      Invalid("--dim: no input has a dimension named '" + name + "'; open dimensions are " +
              (known.empty() ? "none" : known) + " (see --shape)");
    }
  }
}

struct Range {
  double low;
  double high;
};

Range ChooseRange(const ElementType& type, const std::string& text) {
  if (text.empty()) {
    const bool real = type.layout == Layout::kFloat || type.layout == Layout::kComplex;
    return real ? Range{-1, 1} : type.layout == Layout::kBool || type.bits < 4 ? Range{0, 1} : Range{0, 7};
  }
  const std::vector<double> ends = ParseRange(text);
  return {ends[0], ends[1]};
}

// Uniformly distributed numbers; integers include both ends. The same seed gives the same numbers on every machine.
void FillRandom(HostTensor& tensor, const ElementType& type, const Range& range, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t count = ElementCount(tensor.shape);
  const bool whole = type.layout != Layout::kFloat && type.layout != Layout::kComplex;
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = whole ? std::floor(range.low + unit * (range.high - range.low + 1))
                               : range.low + unit * (range.high - range.low);
    if (type.layout == Layout::kString) {
      tensor.strings.push_back("text" + std::to_string(static_cast<int>(value)));
    } else {
      SetElement(type, tensor.data, i, value);
    }
  }
}

// The inputs; those that would be random only on request.
std::vector<Input> MakeSome(const std::vector<ValueDescription>& wanted, const InputArguments& arguments,
                            std::vector<std::string>& assumed, bool with_random) {
  Wishes wishes = ParseWishes(wanted, arguments);
  CheckDims(wanted, wishes);
  std::vector<Input> inputs;
  for (const ValueDescription& value : wanted) {
    const auto source = wishes.sources.find(value.name);
    if (source == wishes.sources.end() && !with_random) continue;
    if (value.kind != ONNX_TYPE_TENSOR) {
      throw Failure(ORT_NOT_IMPLEMENTED,
                    "input '" + value.name + "' is a " + TypeText(value) + ", not a tensor: use the Python package");
    }
    Input input{.tensor = {.name = value.name, .type = value.type}, .source = "random"};
    if (source != wishes.sources.end()) input.source = source->second;
    const ElementType& type = FindElementType(value.type);
    if (const auto found = wishes.tensors.find(value.name); found != wishes.tensors.end()) {
      input.tensor = Fit(std::move(found->second), value, input.source);
      input.tensor.name = value.name;
    } else {
      input.tensor.shape = ChooseShape(value, wishes, assumed);
      const std::size_t count = ElementCount(input.tensor.shape);
      input.tensor.data.resize(DataSize(type, count));
      if (const auto number = wishes.numbers.find(value.name); number != wishes.numbers.end()) {
        if (type.layout == Layout::kString) input.tensor.strings.assign(count, input.source);
        for (std::size_t i = 0; type.layout != Layout::kString && i < count; ++i) {
          SetElement(type, input.tensor.data, i, number->second);
        }
      } else {
        FillRandom(input.tensor, type, ChooseRange(type, arguments.range), arguments.seed + inputs.size());
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace

std::string Names(const std::vector<ValueDescription>& values) {
  std::string text;
  for (const ValueDescription& value : values) text += (text.empty() ? "'" : ", '") + value.name + "'";
  return text.empty() ? "none" : text;
}

std::map<std::string, std::vector<std::int64_t>> ParseShapes(const std::vector<std::string>& shapes,
                                                             const std::vector<ValueDescription>& wanted) {
  std::map<std::string, std::vector<std::int64_t>> parsed;
  for (const std::string& text : shapes) {
    const auto [name, value] = SplitPair(text, "--shape");
    CheckName(name, wanted, "--shape");
    parsed[name] = ParseShape(value);
  }
  return parsed;
}

std::vector<double> ParseRange(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) Invalid("--range: expected LOW,HIGH, as in --range 0,255, found '" + text + "'");
  const double low = ParseNumber(text.substr(0, comma), "--range");
  const double high = ParseNumber(text.substr(comma + 1), "--range");
  if (low > high) Invalid("--range: expected LOW,HIGH with LOW first, found '" + text + "'");
  return {low, high};
}

HostTensor Fit(HostTensor tensor, const ValueDescription& value, const std::string& source) {
  const ElementType& want = FindElementType(value.type);
  const ElementType& have = FindElementType(tensor.type);
  if (have.type != want.type) {
    if (want.npy.empty() && have.layout == Layout::kUnsigned && want.bits == have.bits) {
      tensor.type = want.type;
    } else {
      Invalid("input '" + value.name + "': expected elements of type " + std::string(want.name) + ", found " +
              std::string(have.name) + " in '" + source + "'");
    }
  }
  if (!value.has_shape || value.shape.empty()) return tensor;  // a declared scalar takes any shape, with a warning
  bool fits = tensor.shape.size() == value.shape.size();
  for (std::size_t i = 0; fits && i < value.shape.size(); ++i) {
    fits = value.shape[i] < 0 || value.shape[i] == tensor.shape[i];
  }
  if (!fits) {
    Invalid("input '" + value.name + "': expected " + TypeText(value) + ", found shape " + ShapeText(tensor.shape) +
            " in '" + source + "'");
  }
  return tensor;
}

std::vector<Input> MakeInputs(const std::vector<ValueDescription>& wanted, const InputArguments& arguments,
                              std::vector<std::string>& assumed) {
  return MakeSome(wanted, arguments, assumed, true);
}

std::vector<Input> GivenInputs(const std::vector<ValueDescription>& wanted, const InputArguments& arguments,
                               std::vector<std::string>& assumed) {
  return MakeSome(wanted, arguments, assumed, false);
}

}  // namespace sardonyx::cli
