// Requests to the kernel that several parts of the library make.
#ifndef LCI_BASE_SYSTEM_H_
#define LCI_BASE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lci/base/status.h"

namespace lci::base {

// The name of this host, as gethostname(2) has it.
std::string host_name();

// `size` random bytes of the kernel's. Empty: it gives none, and errno says why.
std::string random_bytes(size_t size);
// The error of a caller that random_bytes() has given none.
Status no_random_bytes();
// 64 random bits of the kernel's.
StatusOr<uint64_t> random_number();

// Opens /dev/null in place of each standard stream (descriptors 0 to 2) that is closed. The next
// file or connection that the process opens would get the number otherwise, and bytes that the
// program prints would go there. Thread safety: any thread at any time.
void open_standard_streams();

// Writes all bytes to a descriptor in blocking mode, unless an error, such as that its reader is
// gone, ends it. In one call of write(2) unless a signal or a full pipe cuts it, so that lines of
// other processes stay outside. Returns 0, or the errno of the error.
int write_all(int fd, std::string_view bytes);

}  // namespace lci::base

#endif  // LCI_BASE_SYSTEM_H_
