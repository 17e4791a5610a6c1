// plugins/host/options.cpp - the options that a user gives to a provider.
#include "options.h"

#include <cctype>
#include <charconv>

namespace plugin_host {
namespace {

Handle<OrtKeyValuePairs> EntriesOf(const HostApi& apis, const OrtSessionOptions& options) {
  OrtKeyValuePairs* entries = nullptr;
  apis.Host(apis.host->GetSessionOptionsConfigEntries(&options, &entries));
  return {entries, apis.host->ReleaseKeyValuePairs};
}

}  // namespace

Options::Options(const HostApi& apis, const OrtSessionOptions& options, const std::string& provider)
    : apis_(apis), prefix_("ep."), entries_(EntriesOf(apis, options)) {
  for (const char c : provider) prefix_ += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  prefix_ += '.';
}

std::optional<std::string> Options::Text(const std::string& option) const {
  const char* text = apis_.host->GetKeyValue(entries_.get(), (prefix_ + option).c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

int Options::Count(const std::string& option, int otherwise) const {
  const std::optional<std::string> text = Text(option);
  if (!text) return otherwise;
  int count = -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (error != std::errc() || end != text->data() + text->size() || count < 0)
    throw Failure(ORT_INVALID_ARGUMENT, "option " + option + ": expected a number of 0 or more, found '" + *text + "'");
  return count;
}

bool Options::Flag(const std::string& option, bool otherwise) const {
  const std::optional<std::string> text = Text(option);
  if (!text) return otherwise;
  if (*text != "0" && *text != "1")
    throw Failure(ORT_INVALID_ARGUMENT, "option " + option + ": expected 0 or 1, found '" + *text + "'");
  return *text == "1";
}

}  // namespace plugin_host
