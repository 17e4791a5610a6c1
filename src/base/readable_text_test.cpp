// base/readable_text_test.cpp - messages stay readable whatever names they contain.
#include "base/readable_text.h"

#include <gtest/gtest.h>

namespace sardonyx {
namespace {

TEST(ReadableText, OrdinaryTextStays) {
  for (const std::string text : {"", "node 'a/b:0' (Add): x\n\ty", "Grüße 你好 \xF0\x9F\x98\x80"})
    EXPECT_EQ(ReadableText(text), text);
}

TEST(ReadableText, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(ReadableText("a\x1b[31mb\rc\x7f"), "a\\x1b[31mb\\x0dc\\x7f");
  EXPECT_EQ(ReadableText(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(ReadableText("\xC2\x9B"), "\\xc2\\x9b") << "a control sequence in one character";
}

TEST(ReadableText, BytesThatAreNoTextAreSpelledOut) {
  EXPECT_EQ(ReadableText("\xFFz\xC3"), "\\xffz\\xc3");
  EXPECT_EQ(ReadableText("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
  EXPECT_EQ(ReadableText("\xE0\x80\x80"), "\\xe0\\x80\\x80") << "a character in too many bytes";
}

TEST(ReadableText, LongNamesAreShortened) {
  const std::string name(1 << 20, 'n');
  const std::string text = ReadableText("node '" + name + "' (Add): expected 2 inputs, found 1");
  EXPECT_LT(text.size(), 500u);
  EXPECT_EQ(text.substr(0, 10), "node 'nnnn");
  EXPECT_NE(text.find("bytes) ... "), std::string::npos);
  EXPECT_NE(text.find("n' (Add): expected 2 inputs, found 1"), std::string::npos);
}

TEST(ReadableText, LongTextsAreShortened) {
  std::string text = "expected [";
  for (int i = 0; i < 5000; ++i) text += "ü, ";
  const std::string readable = ReadableText(text + "] found 7");
  EXPECT_LE(readable.size(), 4000u);
  EXPECT_EQ(readable.find("\\x"), std::string::npos) << "no character is cut in half";
  EXPECT_EQ(readable.substr(readable.size() - 9), "] found 7");
}

}  // namespace
}  // namespace sardonyx
