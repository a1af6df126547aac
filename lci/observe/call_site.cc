#include "lci/observe/call_site.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lci/base/strings.h"

namespace lci::observe {
namespace {

struct symbol {
  std::string name;      // mangled; empty: none found
  uintptr_t offset = 0;  // of the address from its beginning
};

// A file in memory, for reading.
class mapped_file {
 public:
  explicit mapped_file(const char* path) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info = {};
    if (::fstat(fd, &info) == 0 && info.st_size > 0) {
      size_ = static_cast<size_t>(info.st_size);
      memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory_ == MAP_FAILED) size_ = 0;
    }
    ::close(fd);
  }
  ~mapped_file() {
    if (size_ > 0) ::munmap(memory_, size_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  // `count` objects at an offset; null if the file does not have them.
  template <class T>
  const T* at(uint64_t offset, uint64_t count = 1) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(static_cast<const char*>(memory_) + offset);
  }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

// The function at an address of the file, by its full symbol table, which, unlike the dynamic one,
// has the functions of a program.
symbol find_symbol(const char* path, uintptr_t address) {
  const mapped_file file(path);
  const auto* const header = file.at<ElfW(Ehdr)>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto* const sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return {};
  for (int i = 0; i < header->e_shnum; ++i) {
    const ElfW(Shdr)& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum) continue;
    const uint64_t count = table.sh_size / sizeof(ElfW(Sym));
    const auto* const symbols = file.at<ElfW(Sym)>(table.sh_offset, count);
    const ElfW(Shdr)& texts = sections[table.sh_link];
    const char* const names = file.at<char>(texts.sh_offset, texts.sh_size);
    if (symbols == nullptr || names == nullptr) continue;
    for (uint64_t s = 0; s < count; ++s) {
      const ElfW(Sym)& each = symbols[s];
      const bool inside = address >= each.st_value && address - each.st_value < each.st_size;
      if (!inside || ELF64_ST_TYPE(each.st_info) != STT_FUNC || each.st_name >= texts.sh_size) {
        continue;
      }
      return {std::string(names + each.st_name,
                          ::strnlen(names + each.st_name, texts.sh_size - each.st_name)),
              address - each.st_value};
    }
  }
  return {};
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string readable = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return readable;
}

bool is_of_library(const std::string& name) {
  for (const std::string_view prefix : {"_ZN3lci", "_ZNK3lci", "_ZThn", "_ZTv"}) {
    if (base::StartsWith(name, prefix)) return true;
  }
  return false;
}

}  // namespace

call_stack call_stack::here() {
  call_stack stack;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) {
        auto* const filled = static_cast<call_stack*>(to);
        if (filled->count_ == most_frames) return _URC_END_OF_STACK;
        filled->frames_[filled->count_++] = _Unwind_GetIP(context);
        return _URC_NO_REASON;
      },
      &stack);
  return stack;
}

std::string call_stack::caller() const {
  Dl_info own = {};
  ::dladdr(reinterpret_cast<const void*>(&call_stack::here), &own);
  for (size_t i = 0; i < count_; ++i) {
    // The address after a call may be that of the next function.
    const uintptr_t address = frames_[i] - 1;
    Dl_info module = {};
    void* map = nullptr;
    if (::dladdr1(reinterpret_cast<const void*>(address), &module, &map, RTLD_DL_LINKMAP) == 0 ||
        module.dli_fname == nullptr) {
      continue;
    }
    const uintptr_t in_file = address - static_cast<const link_map*>(map)->l_addr;
    // The name that dladdr has for the program itself may be relative to another directory.
    const bool is_program = static_cast<const link_map*>(map)->l_name[0] == 0;
    const symbol found = find_symbol(is_program ? "/proc/self/exe" : module.dli_fname, in_file);
    // In a shared library of its own, the library has no symbols for its inner functions.
    const bool is_own_file = module.dli_fbase == own.dli_fbase && !is_program;
    if (is_own_file || is_of_library(found.name)) continue;
    const std::string_view path = module.dli_fname;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (found.name.empty()) return base::StrCat(file, "+0x", base::Hex{in_file});
    return base::StrCat(file, "(", demangled(found.name), "+0x", base::Hex{found.offset}, ")");
  }
  return "";
}

}  // namespace lci::observe
