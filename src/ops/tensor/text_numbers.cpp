// ops/tensor/text_numbers.cpp - converts numbers to text and back, independently of the locale.
#include "ops/tensor/text_numbers.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace sardonyx::ops {
namespace {

// Without blanks around it and without a plus.
std::string_view Trimmed(const std::string& text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  std::string_view rest = text;
  const std::size_t first = rest.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  rest = rest.substr(first, rest.find_last_not_of(kBlanks) - first + 1);
  if (rest.size() > 1 && rest[0] == '+' && rest[1] != '-') rest.remove_prefix(1);
  return rest;
}

template <typename T>
T RealOf(const std::string& text, bool hexadecimal) {
  std::string_view rest = Trimmed(text);
  T value = 0;
  if (hexadecimal) {
    const std::size_t sign = rest.substr(0, 1) == "-" ? 1 : 0;
    if (rest.substr(sign, 2) == "0x" || rest.substr(sign, 2) == "0X") {
      const char* const digits = rest.data() + sign + 2;
      const auto [end, error] = std::from_chars(digits, rest.data() + rest.size(), value, std::chars_format::hex);
      if (error == std::errc()) return sign == 1 ? -value : value;
    }
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::invalid_argument)
    Fail(Code::kInvalidArgument, "expected a number, found the string \"", text.substr(0, 100), "\"");
  if (error != std::errc::result_out_of_range) return value;
  rest = rest.substr(0, static_cast<std::size_t>(end - rest.data()));
  // from_chars does not say on which side: the exponent does, or the first digit if there is none.
  const std::size_t exponent = rest.find_first_of("eE");
  const bool negative = rest[0] == '-';
  const bool tiny = exponent != std::string_view::npos
                        ? rest.substr(exponent + 1, 1) == "-"
                        : rest.substr(negative ? 1 : 0, 1) == "0" || rest[negative ? 1 : 0] == '.';
  const T size = tiny ? T(0) : std::numeric_limits<T>::infinity();
  return negative ? -size : size;
}

template <typename T>
T WholeOf(const std::string& text) {
  std::string_view rest = Trimmed(text);
  const bool negative = std::is_unsigned_v<T> && rest.size() > 1 && rest[0] == '-';
  T value = 0;
  const char* const begin = rest.data() + (negative ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, rest.data() + rest.size(), value);
  const bool whole = end == rest.data() + rest.size() || std::string_view(".eE").find(*end) == std::string_view::npos;
  if (error == std::errc() && whole) return negative ? static_cast<T>(0 - value) : value;
  const double real =
      error == std::errc::result_out_of_range ? std::numeric_limits<double>::infinity() : RealOf<double>(text, false);
  if (!(real >= -0x1p63 && real < (std::is_unsigned_v<T> ? 0x1p64 : 0x1p63)))
    Fail(Code::kInvalidArgument, "expected a number that fits in 64 bits, found the string \"", text.substr(0, 100),
         "\"");
  return real < 0 ? static_cast<T>(static_cast<std::int64_t>(real)) : static_cast<T>(real);
}

}  // namespace

std::string TextOf(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "INF" : "-INF";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), x, std::chars_format::general, 8);
  return {buffer, result.ptr};
}

float FloatOf(const std::string& text) { return RealOf<float>(text, true); }
double DoubleOf(const std::string& text) { return RealOf<double>(text, true); }
std::int64_t IntOf(const std::string& text) { return WholeOf<std::int64_t>(text); }
std::uint64_t UIntOf(const std::string& text) { return WholeOf<std::uint64_t>(text); }

}  // namespace sardonyx::ops
