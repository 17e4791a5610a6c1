// ir/dim.cpp - polynomials over symbols, kept in one normal form: terms sorted by monomial, none with coefficient zero,
// the factors of a monomial sorted. Expressions that overflow, or grow beyond a limit, become unknown.
#include "ir/dim.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace sardonyx {
namespace {

using Terms = Dim::Terms;
constexpr std::size_t kMaxTerms = 32;
constexpr std::size_t kMaxMonomial = 256;
constexpr int kMaxNesting = 16;

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A factor of a monomial is an identifier, a call such as floor(a*b/2), or any other name in double quotes.
std::string Unquoted(std::string_view factor) {
  if (factor.size() < 2 || factor.front() != '"') return std::string(factor);
  return std::string(factor.substr(1, factor.size() - 2));
}

std::vector<std::string> Factors(const std::string& monomial) {
  std::vector<std::string> factors;
  for (std::size_t begin = 0; begin < monomial.size();) {
    const std::size_t end = Dim::FactorEnd(monomial, begin);
    factors.push_back(monomial.substr(begin, end - begin));
    begin = end + 1;
  }
  return factors;
}

std::string Joined(const std::vector<std::string>& factors) {
  std::string monomial;
  for (const std::string& factor : factors) {
    if (!monomial.empty()) monomial += '*';
    monomial += factor;
  }
  return monomial;
}

std::string Product(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  std::vector<std::string> factors = Factors(a);
  for (std::string& factor : Factors(b)) factors.push_back(std::move(factor));
  std::sort(factors.begin(), factors.end());
  return Joined(factors);
}

// a / b if every factor of b is one of a.
std::optional<std::string> Quotient(const std::string& a, const std::string& b) {
  std::vector<std::string> factors = Factors(a);
  for (const std::string& factor : Factors(b)) {
    const auto found = std::find(factors.begin(), factors.end(), factor);
    if (found == factors.end()) return std::nullopt;
    factors.erase(found);
  }
  return Joined(factors);
}

// Reads what ToText writes: sums of products of integers, names and calls, with blanks around + and - (so that
// "past-length" is a name). Anything else is one name.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // nullopt if the text is not an expression.
  std::optional<std::vector<Terms>> Sum() {
    std::vector<Terms> terms;
    std::int64_t sign = Take("-") ? -1 : 1;
    while (true) {
      Terms term = {{std::string(), sign}};
      if (!ReadProduct(term.front())) return std::nullopt;
      terms.push_back(std::move(term));
      if (at_ == text_.size()) return terms;
      if (Take(" + ")) {
        sign = 1;
      } else if (Take(" - ")) {
        sign = -1;
      } else {
        return std::nullopt;
      }
      if (terms.size() > kMaxTerms) return std::nullopt;
    }
  }
  bool has_name() const { return has_name_; }

 private:
  bool Take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  bool ReadProduct(std::pair<std::string, std::int64_t>& term) {
    do {
      if (at_ < text_.size() && IsDigit(text_[at_])) {
        std::int64_t number = 0;
        for (; at_ < text_.size() && IsDigit(text_[at_]); ++at_) {
          if (__builtin_mul_overflow(number, 10, &number)) return false;
          if (__builtin_add_overflow(number, text_[at_] - '0', &number)) return false;
        }
        if (__builtin_mul_overflow(term.second, number, &term.second)) return false;
      } else {
        const std::string_view name = ReadName();
        if (name.empty()) return false;
        has_name_ = true;
        term.first = Product(term.first, std::string(name));
        if (term.first.size() > kMaxMonomial) return false;
      }
    } while (Take("*"));
    return true;
  }

  // An identifier, with its arguments in balanced parentheses if it has any.
  std::string_view ReadName() {
    const std::size_t begin = at_;
    if (at_ == text_.size() || !IsNameStart(text_[at_])) return {};
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] == '(') {
      int depth = 0;
      do {
        if (text_[at_] == '"') return {};
        if (text_[at_] == '(' && ++depth > kMaxNesting) return {};
        if (text_[at_] == ')') --depth;
        ++at_;
      } while (depth != 0 && at_ < text_.size());
      if (depth != 0) return {};
    }
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool has_name_ = false;
};

// "x", or "(x + 1)" where an operand needs it.
std::string Operand(const Dim& dim) {
  const std::string text = dim.ToText();
  return text.find_first_of(" */") == std::string::npos ? text : "(" + text + ")";
}

std::string OrderedPair(const Dim& a, const Dim& b) {
  std::string x = a.ToText(), y = b.ToText();
  if (y < x) x.swap(y);
  return x + ", " + y;
}

std::int64_t FloorOf(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

std::size_t Dim::FactorEnd(const std::string& monomial, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < monomial.size(); ++i) {
    const char c = monomial[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == '*' && depth == 0) return i;
  }
  return monomial.size();
}

std::string Dim::SymbolOf(const std::string& factor) { return Unquoted(factor); }

Dim Dim::Symbol(const std::string& name) {
  if (name.empty()) return {};
  Reader reader(name);
  if (const auto terms = reader.Sum(); terms && reader.has_name()) {
    Dim sum(0);
    for (const Terms& term : *terms) sum = sum + FromTerms(term);
    if (!sum.unknown()) return sum;
  }
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? '\'' : c;
  return FromTerms({{quoted + "\"", 1}});
}

Dim Dim::FromTerms(Terms terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.front().first.empty()) return terms.front().second;
  if (terms.size() > kMaxTerms) return {};
  for (const auto& term : terms) {
    if (term.first.size() > kMaxMonomial) return {};
  }
  Dim dim;
  dim.kind_ = Kind::kExpression;
  dim.terms_ = std::make_shared<const Terms>(std::move(terms));
  return dim;
}

Dim::Terms Dim::ToTerms() const {
  if (symbolic()) return *terms_;
  if (known() && number_ != 0) return {{std::string(), number_}};
  return {};
}

std::string Dim::ToText() const {
  if (unknown()) return "?";
  if (known()) return std::to_string(number_);
  std::string text;
  const auto append = [&text](const std::string& monomial, std::int64_t coefficient) {
    std::string size = std::to_string(coefficient);
    const bool negative = size.front() == '-';
    if (negative) size.erase(0, 1);
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    std::string factors;
    for (const std::string& factor : Factors(monomial)) factors += (factors.empty() ? "" : "*") + Unquoted(factor);
    if (factors.empty() || size != "1") text += size + (factors.empty() ? "" : "*");
    text += factors;
  };
  for (const auto& [monomial, coefficient] : *terms_) {
    if (!monomial.empty()) append(monomial, coefficient);
  }
  if (terms_->front().first.empty()) append("", terms_->front().second);
  return text;
}

bool Dim::operator==(const Dim& other) const {
  if (kind_ != other.kind_) return false;
  if (known()) return number_ == other.number_;
  return unknown() || terms_ == other.terms_ || *terms_ == *other.terms_;
}

bool SameDim(const Dim& a, const Dim& b) { return !a.unknown() && a == b; }

Dim operator+(const Dim& a, const Dim& b) {
  if (a.unknown() || b.unknown()) return {};
  if (a.known() && b.known()) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a.number_, b.number_, &sum) ? Dim() : Dim(sum);
  }
  const Terms x = a.ToTerms(), y = b.ToTerms();
  Terms sum;
  auto i = x.begin();
  auto j = y.begin();
  while (i != x.end() || j != y.end()) {
    if (j == y.end() || (i != x.end() && i->first < j->first)) {
      sum.push_back(*i++);
    } else if (i == x.end() || j->first < i->first) {
      sum.push_back(*j++);
    } else {
      std::int64_t coefficient = 0;
      if (__builtin_add_overflow(i->second, j->second, &coefficient)) return {};
      sum.emplace_back(i->first, coefficient);
      ++i, ++j;
    }
  }
  return Dim::FromTerms(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if ((a.known() && a.number_ == 0) || (b.known() && b.number_ == 0)) return 0;
  if (a.unknown() || b.unknown()) return {};
  if (a.known() && b.known()) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.number_, b.number_, &product) ? Dim() : Dim(product);
  }
  const Terms y = b.ToTerms();
  Dim sum(0);
  for (const auto& x : a.ToTerms()) {
    for (const auto& [monomial, coefficient] : y) {
      std::int64_t product = 0;
      if (__builtin_mul_overflow(x.second, coefficient, &product)) return {};
      sum = sum + Dim::FromTerms({{Product(x.first, monomial), product}});
    }
  }
  return sum;
}

Dim FloorDiv(const Dim& a, const Dim& b) {
  if (a.unknown() || b.unknown()) return {};
  if (SameDim(a, b)) return b.known() && b.number_ == 0 ? Dim() : Dim(1);
  if (b.known()) {
    if (b.number_ == 0 || b.number_ == INT64_MIN) return {};
    if (b.number_ < 0) return FloorDiv(a * Dim(-1), Dim(-b.number_));
    if (a.known()) return FloorOf(a.number_, b.number_);
    // floor((k*q + r)/k) = q + floor(r/k): one form for all texts that differ by multiples of k.
    Dim whole(0), rest(0);
    for (const auto& [monomial, coefficient] : *a.terms_) {
      const std::int64_t quotient = FloorOf(coefficient, b.number_);
      whole = whole + Dim::FromTerms({{monomial, quotient}});
      const std::int64_t remainder = coefficient % b.number_;
      rest = rest + Dim::FromTerms({{monomial, remainder < 0 ? remainder + b.number_ : remainder}});
    }
    if (rest.known()) return whole;  // in [0, k)
    return whole + Dim::Symbol("floor(" + Operand(rest) + "/" + b.ToText() + ")");
  }
  if (b.terms_->size() == 1) {  // a monomial that divides every term
    const auto& [divisor, factor] = b.terms_->front();
    Dim whole(0);
    for (const auto& [monomial, coefficient] : a.ToTerms()) {
      const std::optional<std::string> quotient = Quotient(monomial, divisor);
      if (!quotient || (factor == -1 && coefficient == INT64_MIN) || coefficient % factor != 0) {
        whole = Dim();
        break;
      }
      whole = whole + Dim::FromTerms({{*quotient, coefficient / factor}});
    }
    if (!whole.unknown()) return whole;
  }
  return Dim::Symbol("floor(" + Operand(a) + "/" + Operand(b) + ")");
}

Dim CeilDiv(const Dim& a, const Dim& b) {
  if (b.known() && b.number_ != INT64_MIN) {
    return b.number_ < 0 ? CeilDiv(a * Dim(-1), Dim(-b.number_)) : FloorDiv(a + Dim(b.number_ - 1), b);
  }
  if (a.unknown() || b.unknown()) return {};
  const Dim floor = FloorDiv(a, b);
  if (floor.known() || floor * b == a) return floor;  // divides without a rest
  return Dim::Symbol("ceil(" + Operand(a) + "/" + Operand(b) + ")");
}

Dim Min(const Dim& a, const Dim& b) {
  if (a.unknown() || b.unknown()) return {};
  if (const Dim difference = a - b; difference.known()) return difference.number_ <= 0 ? a : b;
  return Dim::Symbol("min(" + OrderedPair(a, b) + ")");
}

Dim Max(const Dim& a, const Dim& b) {
  if (a.unknown() || b.unknown()) return {};
  if (const Dim difference = a - b; difference.known()) return difference.number_ >= 0 ? a : b;
  return Dim::Symbol("max(" + OrderedPair(a, b) + ")");
}

}  // namespace sardonyx
