// tests/fuzz/fitting_inputs.cpp - makes a random value for each input; see fitting_inputs.h.
#include "fuzz/fitting_inputs.h"

#include <cstring>
#include <limits>
#include <map>

namespace sardonyx::fuzz {
namespace {

std::int64_t Integer(std::mt19937& random) {
  constexpr std::int64_t kEdges[] = {-1, 100, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};
  if (random() % 24 == 0) return kEdges[random() % std::size(kEdges)];
  return static_cast<std::int64_t>(random() % 4);
}

double Real(std::mt19937& random) {
  constexpr double kEdges[] = {0.0, 1e30, -1e30, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
  if (random() % 32 == 0) return kEdges[random() % std::size(kEdges)];
  return static_cast<double>(random() % 33) / 8 - 2;
}

class Inputs {
 public:
  explicit Inputs(std::uint32_t seed) : random_(seed) {}

  Value Of(const Type& type, int depth = 0) {
    switch (type.kind) {
      case TypeKind::kTensor:
        return RandomTensor(random_, type.dtype, ShapeOf(type));
      case TypeKind::kSequence: {
        Sequence sequence;
        sequence.element_dtype = type.element->dtype;
        for (std::size_t i = random_() % 4; i > 0 && depth < 3; --i)
          sequence.items.push_back(Of(*type.element, depth + 1));
        return sequence;
      }
      case TypeKind::kOptional:
        return random_() % 2 == 0 ? Value() : Of(*type.element, depth + 1);
      case TypeKind::kMap: {
        Map map;
        map.keys = Tensor(type.dtype, Shape{0});
        map.values = Tensor(type.element->dtype, Shape{0});
        return map;
      }
      default:
        return {};
    }
  }

 private:
  Shape ShapeOf(const Type& type) {
    Shape shape;
    const std::size_t rank = type.has_rank ? type.rank() : random_() % 4;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t number = static_cast<std::int64_t>(random_() % 5);
      if (type.has_rank && type.dims[i].known()) {
        number = type.dims[i].number();
      } else if (type.has_rank && type.dims[i].symbolic()) {
        number = by_name_.emplace(type.dims[i].ToText(), number).first->second;
      }
      constexpr std::int64_t kMost = 1 << 16;  // a larger input can't be made here: the run is not reached
      if (number < 0 || number > kMost || count * number > kMost) Fail(Code::kInvalidArgument, "too large");
      count *= number == 0 ? 1 : number;
      shape.Append(number);
    }
    return shape;
  }

  std::mt19937 random_;
  std::map<std::string, std::int64_t> by_name_;
};

}  // namespace

Tensor RandomTensor(std::mt19937& random, DType dtype, const Shape& shape) {
  Tensor tensor(dtype == DType::kUndefined ? DType::kFloat : dtype, shape);
  const auto fill = [&]<typename T>(T*, auto&& next) {
    for (T& element : tensor.span<T>()) element = static_cast<T>(next(random));
  };
  switch (tensor.dtype()) {
    case DType::kFloat:
      fill(static_cast<float*>(nullptr), Real);
      break;
    case DType::kDouble:
      fill(static_cast<double*>(nullptr), Real);
      break;
    case DType::kInt64:
      fill(static_cast<std::int64_t*>(nullptr), Integer);
      break;
    case DType::kInt32:
      fill(static_cast<std::int32_t*>(nullptr), Integer);
      break;
    case DType::kString:
      for (std::string& text : tensor.span<std::string>())
        text = std::string(random() % 5, static_cast<char>('a' + random() % 3)) +
               (random() % 8 == 0 ? "\xc3\xa4\xff" : "");
      break;
    case DType::kBool:
      for (bool& element : tensor.span<bool>()) element = random() % 2 == 0;
      break;
    default: {
      auto* bytes = static_cast<unsigned char*>(tensor.raw());
      for (std::size_t i = 0; i < tensor.byte_size(); ++i) bytes[i] = static_cast<unsigned char>(random() % 8 * 9);
    }
  }
  return tensor;
}

std::vector<std::pair<std::string, Value>> FittingInputs(const runtime::Session& session, std::uint32_t seed) {
  Inputs inputs(seed);
  std::vector<std::pair<std::string, Value>> values;
  for (const runtime::Port& port : session.inputs()) values.emplace_back(port.name, inputs.Of(port.type));
  return values;
}

}  // namespace sardonyx::fuzz
