// Cache lines that are fetched before they are needed.
#ifndef LCI_BASE_PREFETCH_H_
#define LCI_BASE_PREFETCH_H_

namespace lci::base {

// The line will be written: other processors give it up now.
inline void fetch_to_write(const void* there) {
#if defined(__x86_64__)
  // __builtin_prefetch makes this of it only with an option. Processors without it do nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(there)));
#else
  __builtin_prefetch(there, 1);
#endif
}

}  // namespace lci::base

#endif  // LCI_BASE_PREFETCH_H_
