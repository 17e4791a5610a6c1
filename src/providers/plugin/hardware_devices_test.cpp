// providers/plugin/hardware_devices_test.cpp - devices in a tree like the kernel's.
#include "providers/plugin/hardware_devices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace sardonyx::plugin {
namespace {

class DeviceTree : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "sdx_sys_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  // A device on the bus, and its entry in a class of devices.
  void Add(const std::string& entry, const std::string& bus, const std::string& vendor, const std::string& device) {
    const std::filesystem::path place = root_ / "devices" / bus;
    std::filesystem::create_directories(place);
    std::ofstream(place / "vendor") << vendor << "\n";
    std::ofstream(place / "device") << device << "\n";
    std::filesystem::create_directories(root_ / "class" / entry);
    std::filesystem::create_directory_symlink(place, root_ / "class" / entry / "device");
  }
  std::filesystem::path root_;
};

TEST_F(DeviceTree, ListsCardsByNumberThenAccelerators) {
  Add("drm/card10", "0000:02:00.0", "0x10de", "0x2684");
  Add("drm/card2", "0000:01:00.0", "0x8086", "0x56a0");
  Add("accel/accel0", "0000:00:0b.0", "0x8086", "0x7d1d");
  std::filesystem::create_directories(root_ / "class/drm/card2-HDMI-A-1");
  std::filesystem::create_directories(root_ / "class/drm/renderD128");
  std::filesystem::create_directories(root_ / "class/drm/card3");  // without a device that says what it is
  const std::deque<OrtHardwareDevice> devices = DevicesOfSystem(root_);
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].type, OrtHardwareDeviceType_GPU);
  EXPECT_EQ(devices[0].vendor_id, 0x8086U);
  EXPECT_EQ(devices[0].device_id, 0x56a0U);
  EXPECT_EQ(devices[0].vendor, "Intel");
  EXPECT_STREQ(devices[0].metadata.Find("card_idx"), "2");
  EXPECT_STREQ(devices[0].metadata.Find("pci_bus_id"), "0000:01:00.0");
  EXPECT_EQ(devices[0].metadata.Find("Discrete"), nullptr) << "not known";
  EXPECT_EQ(devices[1].vendor, "NVIDIA");
  EXPECT_STREQ(devices[1].metadata.Find("Discrete"), "1");
  EXPECT_EQ(devices[2].type, OrtHardwareDeviceType_NPU);
}

TEST_F(DeviceTree, ListsTheGpusOfTheBusWhereThereAreNoCards) {
  const auto add = [&](const std::string& name, const std::string& vendor, const std::string& kind) {
    Add("other/" + name, name, vendor, "0x2330");
    std::ofstream(root_ / "devices" / name / "class") << kind << "\n";
    std::filesystem::create_directories(root_ / "bus/pci/devices");
    std::filesystem::create_directory_symlink(root_ / "devices" / name, root_ / "bus/pci/devices" / name);
  };
  add("0000:02:00.0", "0x1002", "0x030000");
  add("0000:01:00.0", "0x10de", "0x030200");
  add("0000:03:00.0", "0x10de", "0x040300");  // sound
  add("0000:04:00.0", "0x8086", "0x038000");
  std::deque<OrtHardwareDevice> devices = DevicesOfSystem(root_);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].type, OrtHardwareDeviceType_GPU);
  EXPECT_STREQ(devices[0].metadata.Find("pci_bus_id"), "0000:01:00.0");
  EXPECT_STREQ(devices[0].metadata.Find("Discrete"), "1");
  EXPECT_EQ(devices[0].metadata.Find("card_idx"), nullptr);
  EXPECT_EQ(devices[1].vendor_id, 0x1002U);
  Add("drm/card0", "0000:05:00.0", "0x8086", "0x56a0");
  devices = DevicesOfSystem(root_);
  ASSERT_EQ(devices.size(), 1U) << "cards are enough";
  EXPECT_STREQ(devices[0].metadata.Find("card_idx"), "0");
}

TEST_F(DeviceTree, MayBeMissing) { EXPECT_TRUE(DevicesOfSystem(root_ / "nowhere").empty()); }

TEST(HardwareDevices, BeginWithTheCpu) {
  ASSERT_FALSE(HardwareDevices().empty());
  EXPECT_EQ(HardwareDevices().front()->type, OrtHardwareDeviceType_CPU);
}

}  // namespace
}  // namespace sardonyx::plugin
