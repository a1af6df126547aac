// The caches of this host's processors.
#ifndef LCI_IO_CACHES_H_
#define LCI_IO_CACHES_H_

#include <algorithm>
#include <cstddef>
#include <string>

namespace lci::io {

// The caches behind which is only the memory. Several processors may share one.
struct last_level_caches {
  size_t bytes = 0;  // of the smallest one; 0: unknown
  size_t count = 0;  // caches of the host

  // Bytes that so many processes of one thread have at most, all together; 0: unknown.
  size_t bytes_for(size_t processes) const { return std::min(processes, count) * bytes; }
};

// Reads what the kernel says of them in the files below `sysfs` ("/sys").
last_level_caches read_last_level_caches(const std::string& sysfs);

}  // namespace lci::io

#endif  // LCI_IO_CACHES_H_
