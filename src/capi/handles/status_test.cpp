// capi/handles/status_test.cpp - exceptions become statuses, statuses of callbacks become exceptions.
#include "capi/handles/status.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "capi/handles/call_out.h"

namespace sardonyx::capi {
namespace {

template <typename Body>
std::pair<OrtErrorCode, std::string> StatusOf(Body body) {
  OrtStatus* status = Guard(body);
  if (status == nullptr) return {ORT_OK, ""};
  std::pair<OrtErrorCode, std::string> result{status->code, status->message};
  FreeStatus(status);
  return result;
}

TEST(Guard, KeepsCodeAndMessageOfAnError) {
  const auto [code, message] = StatusOf([] { Fail(Code::kNotFound, "expected ", 2, ", found ", 3); });
  EXPECT_EQ(code, ORT_NOT_FOUND);
  EXPECT_EQ(message, "expected 2, found 3");
}

TEST(Guard, IsSilentOnSuccess) {
  EXPECT_EQ(StatusOf([] {}).first, ORT_OK);
}

TEST(Guard, TurnsForeignExceptionsIntoStatuses) {
  const auto memory = StatusOf([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.first, ORT_FAIL);
  EXPECT_NE(memory.second.find("out of memory"), std::string::npos);
  EXPECT_EQ(StatusOf([] { throw std::length_error("vector::_M_default_append"); }), memory);
  EXPECT_EQ(StatusOf([] { throw std::runtime_error("odd"); }).second, "odd");
  EXPECT_EQ(StatusOf([] { throw 7; }).first, ORT_RUNTIME_EXCEPTION);
}

TEST(Need, NamesTheArgumentThatIsNull) {
  int* nothing = nullptr;
  const auto [code, message] = StatusOf([&] { Need(nothing, "out") = 1; });
  EXPECT_EQ(code, ORT_INVALID_ARGUMENT);
  EXPECT_NE(message.find("'out'"), std::string::npos);
}

OrtStatusPtr Refuse(int number) { return number > 0 ? nullptr : MakeStatus(ORT_EP_FAIL, "too small"); }
void Throw(int) { throw std::runtime_error("boom"); }
int Twice(int number) { return 2 * number; }

TEST(CallOut, NamesWhoFailedAndKeepsTheCode) {
  CallOut("the plug-in", Refuse, 1);
  EXPECT_EQ(CallOut("the plug-in", Twice, 4), 8);
  const auto refused = StatusOf([] { CallOut("the plug-in", Refuse, 0); });
  EXPECT_EQ(refused.first, ORT_EP_FAIL);
  EXPECT_EQ(refused.second, "the plug-in: too small");
  EXPECT_EQ(StatusOf([] { CallOut("the plug-in", Throw, 0); }).second, "the plug-in threw: boom");
}

TEST(StatusWatch, TellsStatusesThatLiveFromFreedOnes) {
  OrtStatus* before = MakeStatus(ORT_FAIL, "made before");
  const StatusWatch watch;
  OrtStatus *kept = MakeStatus(ORT_FAIL, "kept"), *freed = MakeStatus(ORT_FAIL, "freed");
  FreeStatus(freed);
  EXPECT_TRUE(watch.Lives(kept));
  EXPECT_FALSE(watch.Lives(freed));
  EXPECT_FALSE(watch.Lives(before));
  EXPECT_FALSE(watch.Lives(nullptr));
  FreeStatus(kept);
  FreeStatus(before);
}

}  // namespace
}  // namespace sardonyx::capi
