// ir/dim.h - one dimension of a shape before the run: a number, an expression of symbols, or unknown.
//
// Expressions are polynomials with integer coefficients over symbols ("batch", "seq + 1", "2*h*w"). An expression that
// is not a polynomial (a quotient that does not divide evenly) is a symbol named by its text ("floor(seq/2)"), so that
// equal texts mean equal values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sardonyx {

class Dim {
 public:
  Dim() = default;                                                     // unknown
  Dim(std::int64_t number) : number_(number), kind_(Kind::kNumber) {}  // NOLINT(google-explicit-constructor)
  // A name, or an expression as ToText writes it ("2*seq + 1"); unknown if empty. "past-length" is one name, as is any
  // other text that is not an expression, a bare number included.
  static Dim Symbol(const std::string& name);

  bool known() const { return kind_ == Kind::kNumber; }
  bool symbolic() const { return kind_ == Kind::kExpression; }
  bool unknown() const { return kind_ == Kind::kUnknown; }
  std::int64_t number() const { return number_; }  // only if known()
  std::string ToText() const;                      // "3", "seq + 1", "?" if unknown
  // A copy in which each symbol is replaced by `values(name)` if that is a number. Atoms such as floor(s/2) stay.
  template <typename Lookup>
  Dim Substitute(Lookup&& values) const;

  // Equal numbers or equal expressions; an unknown equals nothing, not even itself.
  friend bool SameDim(const Dim& a, const Dim& b);
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim FloorDiv(const Dim& a, const Dim& b);  // rounds towards minus infinity; unknown for a zero divisor
  friend Dim CeilDiv(const Dim& a, const Dim& b);
  friend Dim Min(const Dim& a, const Dim& b);
  friend Dim Max(const Dim& a, const Dim& b);
  // Exact structural equality, unknown included (for comparing types in tests and caches).
  bool operator==(const Dim& other) const;

  // Terms of an expression: monomial (symbols sorted, joined by '*'; "" for the constant) and coefficient, sorted.
  using Terms = std::vector<std::pair<std::string, std::int64_t>>;
  // The end of the factor of `monomial` that begins at `begin`; the symbol of a factor.
  static std::size_t FactorEnd(const std::string& monomial, std::size_t begin);
  static std::string SymbolOf(const std::string& factor);

 private:
  enum class Kind : std::uint8_t { kUnknown, kNumber, kExpression };
  static Dim FromTerms(Terms terms);
  Terms ToTerms() const;
  std::int64_t number_ = -1;
  Kind kind_ = Kind::kUnknown;
  std::shared_ptr<const Terms> terms_;  // shared: expressions are copied often and never change
};

bool SameDim(const Dim& a, const Dim& b);
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim FloorDiv(const Dim& a, const Dim& b);
Dim CeilDiv(const Dim& a, const Dim& b);
Dim Min(const Dim& a, const Dim& b);
Dim Max(const Dim& a, const Dim& b);

template <typename Lookup>
Dim Dim::Substitute(Lookup&& values) const {
  if (!symbolic()) return *this;
  Dim sum(0);
  for (const auto& [monomial, coefficient] : *terms_) {
    Dim product(coefficient);
    for (std::size_t begin = 0; begin < monomial.size();) {
      const std::size_t end = FactorEnd(monomial, begin);
      const std::string symbol = SymbolOf(monomial.substr(begin, end - begin));
      const std::optional<std::int64_t> value = values(symbol);
      product = product * (value ? Dim(*value) : Symbol(symbol));
      begin = end + 1;
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace sardonyx
