#include "examples/kmer/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace kmer {
namespace {

constexpr size_t huge_page = size_t{2} << 20;

// Small tables would waste most of a huge page.
bool wants_huge_pages(size_t bytes) { return bytes >= huge_page; }

}  // namespace

void* huge_allocate(size_t bytes) {
  // mmap aligns to small pages; one huge page more makes room to align, and what is too much at
  // either end is given back.
  const size_t extra = wants_huge_pages(bytes) ? huge_page : 0;
  if (bytes == 0) bytes = 1;
  const size_t mapped = bytes + extra;
  if (mapped < bytes) throw std::bad_alloc();
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (extra == 0) return memory;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t aligned = (address + huge_page - 1) / huge_page * huge_page;
  constexpr uintptr_t page = 4096;
  const uintptr_t end = (aligned + bytes + page - 1) / page * page;
  const uintptr_t mapped_end = (address + mapped + page - 1) / page * page;
  if (aligned > address) munmap(memory, aligned - address);
  if (mapped_end > end) munmap(reinterpret_cast<void*>(end), mapped_end - end);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);  // if it can't, it works as well
  return reinterpret_cast<void*>(aligned);
}

void huge_free(void* memory, size_t bytes) noexcept { munmap(memory, bytes == 0 ? 1 : bytes); }

}  // namespace kmer
