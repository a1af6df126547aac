#include "lci/base/copy.h"

#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

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

// Only whole lines of the target go past the caches: of a part of one, each store would be a write to
// the memory. The parts come last, since the processor keeps stores in order, and one may have to
// wait for its line.
void copy_past_caches(void* to, const void* from, size_t size) {
  constexpr size_t line = 64;
  if (size < 2 * line) return copy_bytes(to, from, size);
  auto* const begin = static_cast<char*>(to);
  const auto* const from_begin = static_cast<const char*>(from);
  const size_t first = (line - reinterpret_cast<uintptr_t>(begin) % line) % line;
  const size_t behind_lines = first + (size - first) / line * line;
  for (size_t at = first; at < behind_lines; at += line) {
    const auto* const source = reinterpret_cast<const __m128i*>(from_begin + at);
    auto* const target = reinterpret_cast<__m128i*>(begin + at);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  // Other processors may see such stores after later ones otherwise.
  _mm_sfence();
  std::memcpy(begin, from_begin, first);
  std::memcpy(begin + behind_lines, from_begin + behind_lines, size - behind_lines);
}

#else

void copy_past_caches(void* to, const void* from, size_t size) { copy_bytes(to, from, size); }

void copy_many(void* to, const void* from, size_t size) { std::memcpy(to, from, size); }

#endif

}  // namespace lci::base
