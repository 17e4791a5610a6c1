// model/tensor_reader_test.cpp - TensorProto: every element type, every field that may hold the data, and what must be
// refused.
#include "model/tensor_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstring>

#include "model/save.h"
#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

using namespace messages;

Tensor Read(const std::string& bytes) { return LoadTensor(std::as_bytes(std::span(bytes))); }
std::string ReadError(const std::string& bytes) {
  return ErrorOf([&] { Read(bytes); });
}
std::string BytesOf(const Tensor& t) { return {static_cast<const char*>(t.raw()), t.byte_size()}; }

TEST(TensorReader, TakesRawDataOfEveryElementType) {
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (IsString(dtype)) continue;
    std::string raw(ByteSize(dtype, 5), '\0');
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<char>(dtype == DType::kBool ? i % 2 : 3 * i + 1);
    const Tensor tensor = Read(TensorProto("t", dtype, {5}, raw));
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.shape(), Shape({5}));
    EXPECT_EQ(BytesOf(tensor), raw) << Name(dtype);
    EXPECT_EQ(ReadError(TensorProto("t", dtype, {5}, raw + "x")).substr(0, 3), "10:") << Name(dtype);
    EXPECT_EQ(SaveTensor(tensor, "t"), SaveTensor(Read(SaveTensor(tensor, "t")), "t"));
  }
}

// An element type, its values as int32_data holds them, and the bytes they mean.
struct Int32Case {
  DType dtype;
  std::int64_t count;
  std::vector<std::int32_t> numbers;
  std::string bytes;
};

TEST(TensorReader, TakesInt32DataOfEveryTypeThatUsesIt) {
  const std::array<Int32Case, 19> cases = {{
      {DType::kInt32, 2, {-2, 7}, Raw<std::int32_t>({-2, 7})},
      {DType::kInt16, 2, {-2, 7}, Raw<std::int16_t>({-2, 7})},
      {DType::kUInt16, 2, {65535, 7}, Raw<std::uint16_t>({65535, 7})},
      {DType::kInt8, 3, {-128, 127, 255}, Raw<std::int8_t>({-128, 127, -1})},
      {DType::kUInt8, 2, {255, 0}, Raw<std::uint8_t>({255, 0})},
      {DType::kBool, 3, {0, 1, 2}, std::string("\0\1\1", 3)},
      {DType::kFloat16, 1, {0x3c00}, Raw<std::uint16_t>({0x3c00})},
      {DType::kBFloat16, 1, {0xbf80}, Raw<std::uint16_t>({0xbf80})},
      {DType::kFloat8E4M3FN, 2, {0x38, 0xff}, "\x38\xff"},
      {DType::kFloat8E4M3FNUZ, 1, {0x80}, "\x80"},
      {DType::kFloat8E5M2, 1, {0x7c}, "\x7c"},
      {DType::kFloat8E5M2FNUZ, 1, {0x80}, "\x80"},
      {DType::kFloat8E8M0, 1, {0x7f}, "\x7f"},
      {DType::kUInt4, 3, {0x21, 0x03}, "\x21\x03"},
      {DType::kInt4, 3, {0xf1, 0x0e}, "\xf1\x0e"},
      {DType::kFloat4E2M1, 2, {0x72}, "\x72"},
      {DType::kUInt2, 5, {0xe4, 0x01}, "\xe4\x01"},
      {DType::kInt2, 4, {0xe4}, "\xe4"},
      {DType::kInt4, 0, {}, ""},
  }};
  for (const Int32Case& c : cases) {
    const auto with = [&](std::vector<std::int32_t> numbers) {
      return TensorWith("t", static_cast<int>(c.dtype), {c.count}, [&](Writer& w) {
        if (numbers.size() > 1) {  // packed and not packed, mixed
          w.add_packed_int32(TensorField::kInt32Data, numbers.begin(), numbers.end() - 1);
          numbers.erase(numbers.begin(), numbers.end() - 1);
        }
        for (const std::int32_t n : numbers) w.add_int32(TensorField::kInt32Data, n);
      });
    };
    EXPECT_EQ(BytesOf(Read(with(c.numbers))), c.bytes) << Name(c.dtype);
    std::vector<std::int32_t> more = c.numbers;
    more.push_back(1);
    EXPECT_NE(ReadError(with(more)).find("numbers for " + std::string(Name(c.dtype))), std::string::npos)
        << ReadError(with(more));
    if (Bits(c.dtype) > 16 || c.dtype == DType::kBool || c.count == 0) continue;
    more.pop_back();
    more.back() = 70000;
    EXPECT_NE(ReadError(with(more)).find("found larger ones in int32_data"), std::string::npos) << Name(c.dtype);
  }
}

TEST(TensorReader, TakesTheOtherTypedFields) {
  const std::array<float, 4> floats = {1.5f, -2.0f, 3.0f, 0.25f};
  const auto with_floats = [&](int dtype, std::int64_t count) {
    return TensorWith("t", dtype, {count}, [&](Writer& w) {
      w.add_packed_float(TensorField::kFloatData, floats.begin(), floats.begin() + 3);
      w.add_float(TensorField::kFloatData, floats[3]);
    });
  };
  EXPECT_EQ(BytesOf(Read(with_floats(1, 4))), Raw({1.5f, -2.0f, 3.0f, 0.25f}));
  const Tensor complexes = Read(with_floats(14, 2));
  EXPECT_EQ(complexes.data<std::complex<float>>()[1], std::complex<float>(3.0f, 0.25f));
  EXPECT_NE(ReadError(with_floats(14, 4)).find("expected 32 bytes for complex64[4], found 16 in float_data"),
            std::string::npos)
      << ReadError(with_floats(14, 4));

  const auto one = [](int dtype, auto&& fill) { return Read(TensorWith("t", dtype, {}, fill)); };
  EXPECT_EQ(*one(11, [](Writer& w) { w.add_double(TensorField::kDoubleData, 0.1); }).data<double>(), 0.1);
  EXPECT_EQ(*one(7, [](Writer& w) { w.add_int64(TensorField::kInt64Data, -5); }).data<std::int64_t>(), -5);
  EXPECT_EQ(*one(13, [](Writer& w) { w.add_uint64(TensorField::kUInt64Data, ~0ull); }).data<std::uint64_t>(), ~0ull);
  EXPECT_EQ(*one(12, [](Writer& w) { w.add_uint64(TensorField::kUInt64Data, 4000000000u); }).data<std::uint32_t>(),
            4000000000u);
  const Tensor text = one(8, [](Writer& w) { w.add_bytes(TensorField::kStringData, std::string("a\0b", 3)); });
  EXPECT_EQ(text.shape().rank(), 0u);
  EXPECT_EQ(*text.data<std::string>(), std::string("a\0b", 3));
}

TEST(TensorReader, TakesBoolsOfAnyNumber) {
  EXPECT_EQ(BytesOf(Read(TensorProto("t", DType::kBool, {4}, std::string("\0\1\3\xff", 4)))),
            std::string("\0\1\1\1", 4));
  const auto numbers = [](Writer& w) {
    for (const int n : {0, 1, 256, -1}) w.add_int32(TensorField::kInt32Data, n);
  };
  EXPECT_EQ(BytesOf(Read(TensorWith("t", 9, {4}, numbers))), std::string("\0\1\1\1", 4));
}

// It was meant for tensors in several parts, which nothing reads or writes.
TEST(TensorReader, IgnoresSegments) {
  EXPECT_EQ(BytesOf(Read(TensorWith("t", 1, {1},
                                    [](Writer& w) {
                                      w.add_message(TensorField::kSegment, std::string());
                                      w.add_float(TensorField::kFloatData, 1.5f);
                                    }))),
            Raw({1.5f}));
}

TEST(TensorReader, RefusesWhatDoesNotFit) {
  const auto error = [](const std::string& bytes, const std::string& part) {
    const std::string found = ReadError(bytes);
    EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
  };
  error(TensorProto("t", DType::kFloat, {2, 3}, "1234"),
        "10: the tensor: expected 24 bytes for float[2, 3], found 4 in raw_data");
  error(TensorProto("t", DType::kFloat, {-1}, ""), "-1");
  error(TensorProto("t", DType::kFloat, {std::int64_t{1} << 62, 4}, ""), "10: the tensor: ");
  error(TensorProto("t", DType::kDouble, {std::int64_t{1} << 61}, ""), "the tensor: ");
  error(TensorProto("t", DType::kFloat, {std::int64_t{1} << 40}, ""), "expected 4398046511104 bytes");
  error(TensorWith("t", 8, {std::int64_t{1} << 40}, [](Writer&) {}), "expected 1099511627776 strings for string");
  error(TensorWith("t", 0, {1}, [](Writer&) {}), "expected an element type from 1 to 28, found 0");
  error(TensorWith("t", 99, {1}, [](Writer&) {}), "found 99");
  error(TensorWith("t", 27, {1}, [](Writer&) {}), "9: the tensor: element type float6e2m3 is not implemented");
  error(TensorWith("t", 1, {1}, [](Writer&) {}), "expected 4 bytes for float[1], found 0 in float_data");
  error(TensorWith("t", 1, {0}, [](Writer& w) { w.add_int32(TensorField::kDataLocation, 7); }),
        "data_location 0 or 1, found 7");
  error(TensorProto("t", DType::kString, {1}, "a"), "expected strings in string_data, found raw_data");
  error(ExternalTensor("t", DType::kFloat, {1}, {{"location", "w.bin"}}), "cannot be found for a model given as bytes");
}

TEST(TensorReader, RefusesBrokenWireData) {
  const auto error = [](const std::string& bytes, const std::string& part) {
    const std::string found = ReadError(bytes);
    EXPECT_NE(found.find("7: the tensor: "), std::string::npos) << found;
    EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
  };
  error("\x4a\x7fzz", "expected more bytes, found the end of the ");
  error("\x0b", "expected wire type 0, 1, 2 or 5, found another");
  error(std::string("\0\1", 2), "expected a field number, found one that protobuf does not allow");
  error(std::string(11, '\xff'), "expected a varint of at most 10 bytes");
  error(std::string("\x4d\0\0\0\0", 5), "expected a length and bytes, found 4 bytes (field 9");
  error("\x22\x03zzz", "expected packed elements of 4 bytes, found 3 bytes in all");
  error("\x08\x01\x10\x06\x2a\x01\xff", "expected whole varints, found the last one cut off in int32_data");
}

TEST(TensorReader, ReadsSequencesMapsAndOptionals) {
  const std::string one = TensorProto("", DType::kFloat, {1}, Raw({1.0f})),
                    two = TensorProto("", DType::kFloat, {}, Raw({2.0f}));
  const std::string sequence = Fields([&](Writer& w) {
    w.add_string(SequenceField::kName, "s");
    w.add_int32(SequenceField::kElemType, 1);
    w.add_message(SequenceField::kTensors, one);
    w.add_message(SequenceField::kTensors, two);
  });
  std::string name;
  const Value loaded = LoadSequence(std::as_bytes(std::span(sequence)), &name);
  EXPECT_EQ(name, "s");
  ASSERT_EQ(loaded.sequence().items.size(), 2u);
  EXPECT_EQ(loaded.sequence().element_dtype, DType::kFloat);
  EXPECT_EQ(*loaded.sequence().items[1].tensor().data<float>(), 2.0f);

  const std::string optional = Fields([&](Writer& w) { w.add_message(SequenceField::kSequences, sequence); });
  EXPECT_EQ(LoadOptional(std::as_bytes(std::span(optional))).sequence().items.size(), 2u);
  EXPECT_FALSE(LoadOptional(std::as_bytes(std::span(std::string_view("\x10\x01")))).has_value());

  const std::string map = Fields([&](Writer& w) {
    w.add_int32(MapField::kKeyType, 8);
    w.add_string(MapField::kStringKeys, "b");
    w.add_string(MapField::kStringKeys, "a");
    w.add_message(MapField::kValues, sequence);
  });
  const Value sorted = LoadMap(std::as_bytes(std::span(map)));
  EXPECT_EQ(sorted.map().keys.data<std::string>()[0], "a");
  EXPECT_EQ(sorted.map().values.data<float>()[0], 2.0f);

  const std::string mixed = sequence + Fields([&](Writer& w) {
                              w.add_message(SequenceField::kTensors, TensorProto("", DType::kInt64, {0}, ""));
                            });
  const std::string found = ErrorOf([&] { LoadSequence(std::as_bytes(std::span(mixed))); });
  EXPECT_NE(found.find("expected items of one type, found item 2 of type tensor(int64)"), std::string::npos) << found;
}

}  // namespace
}  // namespace sardonyx::model
