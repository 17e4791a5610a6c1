// capi/elf/older_name.cpp - the name by which the loader knows this library where it stands in for a release before 1.19.
//
// These releases were called by their whole version (libonnxruntime.so.1.14.1), later ones libonnxruntime.so.1.
// Programs open the library by its path and then a binding that asks for that name; the loader compares it with what
// the first library calls itself. So a file of such a name calls itself as the release's file did.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

// Of the linker: the dynamic section of what this is linked into (link.h), and the beginning of its file. A program may
// have neither.
#pragma weak _DYNAMIC
extern "C" {
[[gnu::visibility("hidden"), gnu::weak]] extern const ElfW(Ehdr) __ehdr_start;
}

namespace sardonyx {
namespace {

constexpr std::string_view kPrefix = "libonnxruntime.so.1.";
constexpr int kFirstWithoutVersion = 19;

bool IsOfOlderRelease(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  int minor = 0, patch = 0;
  const auto [dot, fault] = std::from_chars(name.data(), name.data() + name.size(), minor);
  if (fault != std::errc() || minor >= kFirstWithoutVersion || dot == name.data() + name.size() || *dot != '.') {
    return false;
  }
  const auto [end, other_fault] = std::from_chars(dot + 1, name.data() + name.size(), patch);
  return other_fault == std::errc() && end == name.data() + name.size();
}

// Whether the loader has made this place read-only after it had relocated the library.
bool IsReadOnly(const void* place) {
  const char* start = reinterpret_cast<const char*>(&__ehdr_start);
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(start + __ehdr_start.e_phoff);
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (headers[i].p_type != PT_GNU_RELRO) continue;
    const char* begin = start + headers[i].p_vaddr;
    return place >= begin && place < begin + headers[i].p_memsz;
  }
  return false;
}

void SetOwnName(ElfW(Dyn) * entry, uint64_t offset) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void* begin = reinterpret_cast<void*>(reinterpret_cast<uint64_t>(entry) / page * page);
  const uint64_t bytes = reinterpret_cast<uint64_t>(entry + 1) - reinterpret_cast<uint64_t>(begin);
  const bool is_read_only = IsReadOnly(entry);
  if (is_read_only && mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) return;
  entry->d_un.d_val = offset;
  if (is_read_only) mprotect(begin, bytes, PROT_READ);
}

[[gnu::constructor]] void TakeOlderName() {
  static char name[64];  // the loader reads it as long as the library is there
  Dl_info own = {};
  if (static_cast<const void*>(_DYNAMIC) == nullptr || &__ehdr_start == nullptr) return;
  if (dladdr(static_cast<const void*>(name), &own) == 0 || own.dli_fname == nullptr) return;
  const char* slash = std::strrchr(own.dli_fname, '/');
  const std::string_view file = slash == nullptr ? own.dli_fname : slash + 1;
  if (file.size() >= sizeof(name) || !IsOfOlderRelease(file)) return;
  std::memcpy(name, file.data(), file.size());
  ElfW(Dyn)* soname = nullptr;
  uint64_t strings = 0;
  for (ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME) soname = entry;
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
  }
  // The loader of glibc writes addresses where the file has offsets; others may not.
  if (strings < reinterpret_cast<uint64_t>(own.dli_fbase)) strings += reinterpret_cast<uint64_t>(own.dli_fbase);
  if (soname != nullptr) SetOwnName(soname, reinterpret_cast<uint64_t>(name) - strings);
}

}  // namespace
}  // namespace sardonyx
