// ir/identifier.cpp - recognizes identifiers and quotes other names.
#include "ir/identifier.h"

namespace sardonyx {

bool IsIdentifier(std::string_view text) {
  bool first = true;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (first || c < '0' || c > '9')) return false;
    first = false;
  }
  return !text.empty();
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string QuotedUnlessIdentifier(std::string_view text) {
  return IsIdentifier(text) ? std::string(text) : Quoted(text);
}

}  // namespace sardonyx
