// tools/cli/terminal.h - output for people: colours (on a terminal only), aligned columns, readable numbers.
#ifndef SARDONYX_TOOLS_CLI_TERMINAL_H
#define SARDONYX_TOOLS_CLI_TERMINAL_H

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace sardonyx::cli {

enum class Style : std::uint8_t { kBold, kDim, kRed, kGreen, kCyan };

// `text` in `style` if standard output (or standard error) is a terminal and NO_COLOR is not set; else unchanged.
std::string Styled(Style style, std::string_view text, bool on_stderr = false);

// Whether standard error is a terminal on which a line can be overwritten.
bool IsLiveTerminal();

std::string Heading(std::string_view text);

// A node's name, or "-> y" if it has no name and its output is y.
std::string ShownName(const std::string& node, const std::string& value);

// Rows as columns with two spaces between them, aligned to the left.
std::string Columns(const std::vector<std::vector<std::string>>& rows, std::string_view indent = "  ");

std::string ByteText(double bytes);    // "3.2 MB"
std::string CountText(double count);   // "25.6 million"
std::string NumberText(double value);  // up to 6 digits

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_TERMINAL_H
