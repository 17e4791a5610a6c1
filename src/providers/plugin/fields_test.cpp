// providers/plugin/fields_test.cpp - which fields of a plug-in's struct may be read.
#include "providers/plugin/fields.h"

#include <gtest/gtest.h>

namespace sardonyx::plugin {
namespace {

OrtStatusPtr ORT_API_CALL Sync(OrtEp* /*self*/) { return nullptr; }

TEST(Fields, AreThoseOfTheVersionThatThePlugInWasBuiltFor) {
  OrtEp ep{};
  ep.Sync = Sync;  // of version 25: in an older struct these bytes are not its own
  ep.ort_version_supported = 25;
  EXPECT_EQ(FieldOf(&ep, &OrtEp::Sync), &Sync);
  ep.ort_version_supported = 24;
  EXPECT_EQ(FieldOf(&ep, &OrtEp::Sync), nullptr);
  ep.ort_version_supported = 1000;
  EXPECT_EQ(FieldOf(&ep, &OrtEp::Sync), &Sync);
}

TEST(Fields, ThatAreNullAreNotThere) {
  OrtEp ep{};
  ep.ort_version_supported = ORT_API_VERSION;
  EXPECT_EQ(FieldOf(&ep, &OrtEp::Compile), nullptr);
}

TEST(Fields, GrowWithEachVersion) {
  EXPECT_EQ(SizeAt<OrtEp>(22), offsetof(OrtEp, GetCapability));
  EXPECT_EQ(SizeAt<OrtEp>(28), offsetof(OrtEp, GetWeightlessSupport));
  EXPECT_EQ(SizeAt<OrtEp>(31), sizeof(OrtEp));
  EXPECT_EQ(SizeAt<OrtEpFactory>(22), offsetof(OrtEpFactory, GetVendorId));
  EXPECT_EQ(SizeAt<OrtEpFactory>(24), offsetof(OrtEpFactory, InitGraphicsInterop));
  EXPECT_EQ(SizeAt<OrtEpFactory>(31), sizeof(OrtEpFactory));
}

}  // namespace
}  // namespace sardonyx::plugin
