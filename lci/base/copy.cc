#include "lci/base/copy.h"

#include <cstdint>

namespace lci::base {

#if defined(__x86_64__)

namespace {

using aligned_vector [[gnu::vector_size(32), gnu::may_alias]] = char;
using vector [[gnu::vector_size(32), gnu::may_alias, gnu::aligned(1)]] = char;

bool is_repetition_slow() {
  static const bool answer = __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx") != 0;
  return answer;
}

}  // namespace

// The first and the last bytes go to places that need not be aligned. In between, stores are aligned,
// which takes two thirds of the time.
[[gnu::target("avx")]] void copy_by_vectors(void* to, const void* from, size_t size) {
  constexpr size_t bytes = sizeof(vector);
  auto* t = static_cast<char*>(to);
  const auto* f = static_cast<const char*>(from);
  char* const end = t + size;
  const char* const from_end = f + size;
  *reinterpret_cast<vector*>(t) = *reinterpret_cast<const vector*>(f);
  const size_t first = bytes - reinterpret_cast<uintptr_t>(t) % bytes;
  t += first;
  f += first;
  for (; end - t > static_cast<ptrdiff_t>(4 * bytes); t += 4 * bytes, f += 4 * bytes) {
    const vector a = *reinterpret_cast<const vector*>(f);
    const vector b = *reinterpret_cast<const vector*>(f + bytes);
    const vector c = *reinterpret_cast<const vector*>(f + 2 * bytes);
    const vector d = *reinterpret_cast<const vector*>(f + 3 * bytes);
    *reinterpret_cast<aligned_vector*>(t) = a;
    *reinterpret_cast<aligned_vector*>(t + bytes) = b;
    *reinterpret_cast<aligned_vector*>(t + 2 * bytes) = c;
    *reinterpret_cast<aligned_vector*>(t + 3 * bytes) = d;
  }
  for (size_t i = 4; i > 0; --i) {
    *reinterpret_cast<vector*>(end - i * bytes) =
        *reinterpret_cast<const vector*>(from_end - i * bytes);
  }
}

void copy_many(void* to, const void* from, size_t size) {
  if (is_repetition_slow()) {
    copy_by_vectors(to, from, size);
  } else {
    std::memcpy(to, from, size);
  }
}

#else

void copy_many(void* to, const void* from, size_t size) { std::memcpy(to, from, size); }

#endif

}  // namespace lci::base
