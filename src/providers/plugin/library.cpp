// providers/plugin/library.cpp - opens a library of execution providers and asks it what it has.
#include "providers/plugin/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "capi/handles/call_release.h"
#include "providers/plugin/fields.h"

namespace sardonyx::plugin {
namespace {

using capi::CallOut;
using capi::CallRelease;

constexpr std::size_t kMaxFactories = 4, kMaxDevices = 8;  // as many as ONNX Runtime makes room for

template <typename Function>
Function FindFunction(void* handle, const char* name, const std::string& path) {
  void* found = dlsym(handle, name);
  if (found == nullptr)
    Fail(Code::kEpFail, "'", path, "': expected a library of execution providers, found none: it has no function ",
         name);
  return reinterpret_cast<Function>(found);
}

}  // namespace

void FactoryReleaser::operator()(OrtEpFactory* factory) const noexcept {
  CallRelease(library->logger(), library->path() + ": ReleaseEpFactory", library->release_, factory);
}

void TransferReleaser::operator()(OrtDataTransferImpl* transfer) const noexcept {
  CallRelease(library->logger(), library->path() + ": OrtDataTransferImpl::Release", transfer->Release, transfer);
}

void Library::Closer::operator()(void* handle) const noexcept { dlclose(handle); }

Factory::Factory(Library& library, FactoryHandle handle, const LibraryHost& host)
    : library_(library), handle_(std::move(handle)) {
  const OrtEpFactory* factory = handle_.get();
  if (factory->GetName == nullptr || factory->GetVendor == nullptr || factory->GetSupportedDevices == nullptr ||
      factory->CreateEp == nullptr || factory->ReleaseEp == nullptr) {
    Fail(Code::kEpFail, "'", library.path(), "': expected a factory with GetName, GetVendor, GetSupportedDevices, ",
         "CreateEp and ReleaseEp, found NULL for one of them");
  }
  const char* name = CallOut((library.path() + ": OrtEpFactory::GetName").c_str(), factory->GetName, factory);
  if (name == nullptr || *name == '\0')
    Fail(Code::kEpFail, "'", library.path(), "': OrtEpFactory::GetName: expected a name, found none");
  name_ = name;
  can_copy_ = name_ + ": OrtDataTransferImpl::CanCopy";
  copy_tensors_ = name_ + ": OrtDataTransferImpl::CopyTensors";
  AddDevices(host.devices);
  AddDataTransfer();
}

void Factory::AddDevices(std::span<const OrtHardwareDevice* const> devices) {
  std::array<OrtEpDevice*, kMaxDevices> found{};
  std::size_t count = 0;
  const auto take = [&] {  // whatever it has made is ours from now on
    for (OrtEpDevice* device : found)
      if (device != nullptr && FindDevice(device) == nullptr) devices_.emplace_back(device);
  };
  try {
    CallOut((name_ + ": OrtEpFactory::GetSupportedDevices").c_str(), handle_->GetSupportedDevices, handle_.get(),
            devices.data(), devices.size(), found.data(), found.size(), &count);
  } catch (...) {
    take();
    throw;
  }
  take();
  if (count > kMaxDevices || count != devices_.size()) {
    Fail(Code::kEpFail, name_, ": OrtEpFactory::GetSupportedDevices: it says that it supports ", count,
         " devices; expected at most ", kMaxDevices, " and as many as it returns (", devices_.size(), "), each once");
  }
  for (const auto& device : devices_) {
    if (device->factory != handle_.get())
      Fail(Code::kEpFail, name_, ": OrtEpFactory::GetSupportedDevices: expected devices made for this factory, found '",
           device->ep_name, "'");
    device->metadata.Set("library_path", library_.path());
  }
}

void Factory::AddDataTransfer() {
  const auto create = FieldOf(handle_.get(), &OrtEpFactory::CreateDataTransfer);
  if (create == nullptr) return;
  OrtDataTransferImpl* transfer = nullptr;
  CallOut((name_ + ": OrtEpFactory::CreateDataTransfer").c_str(), create, handle_.get(), &transfer);
  if (transfer == nullptr) return;
  if (transfer->Release != nullptr) transfer_.reset(transfer);
  if (transfer->Release == nullptr || transfer->CanCopy == nullptr || transfer->CopyTensors == nullptr)
    Fail(Code::kEpFail, name_, ": OrtEpFactory::CreateDataTransfer: expected Release, CanCopy and CopyTensors, found ",
         "NULL for one of them");
}

const OrtEpDevice* Factory::FindDevice(const OrtEpDevice* device) const {
  const auto found =
      std::find_if(devices_.begin(), devices_.end(), [&](const auto& own) { return own.get() == device; });
  return found == devices_.end() ? nullptr : found->get();
}

bool Factory::CanCopy(const Device& from, const Device& to) const {
  return transfer_ != nullptr &&
         CallOut(can_copy_.c_str(), transfer_->CanCopy, transfer_.get(), capi::AsHandle(&from), capi::AsHandle(&to));
}

void Factory::CopyTensors(const OrtValue** from, OrtValue** to, OrtSyncStream** streams, std::size_t count) const {
  CallOut(copy_tensors_.c_str(), transfer_->CopyTensors, transfer_.get(), from, to, streams, count);
}

Library::Library(std::string name, std::string path, const LibraryHost& host)
    : name_(std::move(name)), path_(std::move(path)), logger_{{}, host.logger} {
  if (std::error_code error; !std::filesystem::exists(path_, error))
    Fail(Code::kNoSuchFile, "provider library '", name_, "': there is no file '", path_, "'");
  handle_.reset(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (handle_ == nullptr)
    Fail(Code::kEpFail, "provider library '", name_, "': '", path_, "' cannot be loaded: ", dlerror());
  create_ = FindFunction<decltype(create_)>(handle_.get(), "CreateEpFactories", path_);
  release_ = FindFunction<decltype(release_)>(handle_.get(), "ReleaseEpFactory", path_);
  std::array<OrtEpFactory*, kMaxFactories> made{};
  std::size_t count = 0;
  CallOut((path_ + ": CreateEpFactories").c_str(), create_, name_.c_str(), host.api, &logger_, made.data(), made.size(),
          &count);
  std::vector<FactoryHandle> handles;
  for (OrtEpFactory* factory : made) {
    const bool known =
        std::any_of(handles.begin(), handles.end(), [&](const auto& handle) { return handle.get() == factory; });
    if (factory != nullptr && !known) handles.emplace_back(factory, FactoryReleaser{this});
  }
  // A library that finds no device may have none.
  if (count > kMaxFactories || count != handles.size())
    Fail(Code::kEpFail, "'", path_, "': CreateEpFactories: it says that it has ", count,
         " factories; expected at most ", kMaxFactories, " and as many as it returns (", handles.size(), ")");
  for (FactoryHandle& handle : handles) factories_.push_back(std::make_unique<Factory>(*this, std::move(handle), host));
}

Library::~Library() = default;

}  // namespace sardonyx::plugin
