// tests/providers/seen/text.cpp - JSON.
#include <cstdio>

#include "seen.h"

namespace seen {

std::string Text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string List(const std::vector<std::string>& items) {
  std::string list = "[";
  for (const std::string& item : items) list += (list.size() > 1 ? ", " : "") + item;
  return list + "]";
}

Object& Object::Add(const std::string& key, const std::string& json) {
  body_ += (body_.empty() ? "" : ", ") + seen::Text(key) + ": " + json;
  return *this;
}

}  // namespace seen
