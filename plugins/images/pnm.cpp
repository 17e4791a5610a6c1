// pnm.cpp - the portable formats: PBM, PGM and PPM as text (P1 to P3) or bytes (P4 to P6), and PAM (P7).
#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "image.h"

namespace sardonyx_images {
namespace {

struct Header {
  int kind = 0;  // the digit behind the P
  std::uint64_t width = 0, height = 0, channels = 1, largest = 1;
  bool text() const { return kind <= 3; }
  bool bits() const { return kind == 1 || kind == 4; }
};

bool IsSpace(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Scanner {
 public:
  explicit Scanner(Bytes data) : data_(data) {}

  std::uint8_t Byte() {
    if (at_ == data_.size())
      throw Damaged("the PNM image is truncated: its " + std::to_string(data_.size()) + " bytes end too early");
    return data_[at_++];
  }
  // What lies between white space and comments.
  std::string_view Word() {
    SkipSpace();
    const std::size_t begin = at_;
    while (at_ < data_.size() && !IsSpace(data_[at_]) && data_[at_] != '#') ++at_;
    return {reinterpret_cast<const char*>(data_.data()) + begin, at_ - begin};
  }
  std::uint64_t Number() {
    const std::string_view word = Word();
    std::uint64_t value = 0;
    for (const char c : word) value = c >= '0' && c <= '9' && value < 1'000'000'000 ? value * 10 + (c - '0') : kWrong;
    if (word.empty() || value >= kWrong)
      throw Damaged("expected a number in the PNM image, found '" + std::string(word.substr(0, 20)) + "'");
    return value;
  }
  // A bit in text: 0 or 1, also without space between them.
  std::uint64_t Bit() {
    SkipSpace();
    const std::uint8_t c = Byte();
    if (c != '0' && c != '1') throw Damaged("expected 0 or 1 in the PNM image, found byte " + std::to_string(c));
    return c - '0';
  }
  std::size_t left() const { return data_.size() - at_; }

 private:
  static constexpr std::uint64_t kWrong = 100'000'000'000;
  void SkipSpace() {
    while (at_ < data_.size() && (IsSpace(data_[at_]) || data_[at_] == '#')) {
      if (data_[at_] == '#') {
        while (at_ < data_.size() && data_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
  }

  Bytes data_;
  std::size_t at_ = 2;  // behind "P6"
};

void ReadPamHeader(Scanner& scanner, Header& h) {
  while (true) {
    const std::string_view key = scanner.Word();
    if (key == "ENDHDR") break;
    if (key == "WIDTH") {
      h.width = scanner.Number();
    } else if (key == "HEIGHT") {
      h.height = scanner.Number();
    } else if (key == "DEPTH") {
      h.channels = scanner.Number();
    } else if (key == "MAXVAL") {
      h.largest = scanner.Number();
    } else if (key == "TUPLTYPE") {
      scanner.Word();
    } else {
      throw Damaged("expected a PAM header, found '" + std::string(key.substr(0, 20)) + "'");
    }
  }
  if (h.channels < 1 || h.channels > 4)
    throw Damaged("expected a PAM image of 1 to 4 channels, found " + std::to_string(h.channels));
}

Header ReadHeader(Scanner& scanner, int kind) {
  Header h{.kind = kind};
  if (kind == 7) {
    ReadPamHeader(scanner, h);
  } else {
    h.width = scanner.Number();
    h.height = scanner.Number();
    if (!h.bits()) h.largest = scanner.Number();
    h.channels = kind == 3 || kind == 6 ? 3 : 1;
  }
  if (h.largest < 1 || h.largest > 65535)
    throw Damaged("expected a largest value of 1 to 65535 in the PNM image, found " + std::to_string(h.largest));
  if (!h.text() && !IsSpace(scanner.Byte())) throw Damaged("expected white space behind the header of the PNM image");
  return h;
}

// The fewest bytes that the pixels can take; the picture is not allocated for fewer.
std::uint64_t FewestBytes(const Header& h) {
  if (h.kind == 4) return (h.width + 7) / 8 * h.height;
  const std::uint64_t values = h.width * h.height * h.channels;
  if (h.kind == 1) return values;
  return h.text() ? values * 2 - 1 : values * (h.largest > 255 ? 2 : 1);
}

std::uint64_t NextValue(Scanner& scanner, const Header& h) {
  if (h.kind == 1) return scanner.Bit();
  std::uint64_t value = h.text() ? scanner.Number() : scanner.Byte();
  if (!h.text() && h.largest > 255) value = value << 8 | scanner.Byte();
  // Pillow refuses them in text and limits them in bytes.
  if (value > h.largest && h.text())
    throw Damaged("expected values up to " + std::to_string(h.largest) + " in the PNM image, found " +
                  std::to_string(value));
  return std::min(value, h.largest);
}

}  // namespace

void DecodePnm(Bytes data, Picture& picture) {
  Scanner scanner(data);
  const Header h = ReadHeader(scanner, data[1] - '0');
  picture.CheckSize(h.width, h.height);
  if (scanner.left() < FewestBytes(h))
    throw Damaged("the PNM image is truncated: expected at least " + std::to_string(FewestBytes(h)) +
                  " bytes of pixels, found " + std::to_string(scanner.left()));
  picture.Begin(h.width, h.height);
  std::vector<std::uint8_t> row(h.width * 3);
  for (std::uint64_t y = 0; y < h.height; ++y) {
    std::uint8_t byte = 0;
    for (std::uint64_t x = 0; x < h.width; ++x) {
      std::uint8_t* const rgb = &row[x * 3];
      if (h.kind == 4) {
        if (x % 8 == 0) byte = scanner.Byte();
        GrayToRgb((byte >> (7 - x % 8)) & 1 ? 0 : 255, rgb);
        continue;
      }
      std::uint8_t channels[4] = {};
      for (std::uint64_t i = 0; i < h.channels; ++i) {
        const auto share = static_cast<double>(NextValue(scanner, h)) / static_cast<double>(h.largest);
        channels[i] = static_cast<std::uint8_t>(std::nearbyint((h.kind == 1 ? 1 - share : share) * 255));
      }
      if (h.channels <= 2) {
        GrayToRgb(channels[0], rgb);
      } else {
        rgb[0] = channels[0], rgb[1] = channels[1], rgb[2] = channels[2];
      }
    }
    picture.Row(static_cast<std::int64_t>(y), row.data());
  }
}

}  // namespace sardonyx_images
