#include "examples/kmer/kmer_bins.h"

namespace kmer {
namespace {

// Small, since a job may have many bins of few bytes; large enough for some hundred records.
constexpr size_t block_bytes = 8192;

}  // namespace

kmer_bins::kmer_bins(int k, size_t bins) : k_(k), bins_(bins) {}

bool kmer_bins::add(const char* records, size_t bytes) {
  record next;
  for (size_t at = 0; at != bytes; at += next.bytes) {
    if (!record::read(records + at, bytes - at, k_, &next) || next.bin >= bins_.size())
      return false;
    append(next);
  }
  return true;
}

void kmer_bins::append(const record& one) {
  const size_t bytes = one.bytes - record::header_bytes + 1;
  one_bin& bin = bins_[one.bin];
  const std::lock_guard<std::mutex> lock(bin.mutex);
  if (bin.blocks.empty() || bin.blocks.back().used + bytes > block_bytes) {
    bin.blocks.push_back({std::make_unique<char[]>(block_bytes + sizeof(uint128_t)), 0});
  }
  block& last = bin.blocks.back();
  char* const to = last.bytes.get() + last.used;
  *to = static_cast<char>(one.kmers);
  std::memcpy(to + 1, one.bases, bytes - 1);
  last.used += bytes;
}

}  // namespace kmer
