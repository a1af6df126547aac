#include "lci/boot/job_id.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lci/base/check.h"

namespace lci::boot {

std::string random_hex(size_t digits) {
  std::string bytes((digits + 1) / 2, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::getrandom(&bytes[have], bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    LCI_CHECK(got > 0, "getrandom: ", strerror(errno));
    have += static_cast<size_t>(got);
  }
  return absl::BytesToHexString(bytes).substr(0, digits);
}

std::string make_job_id(absl::string_view prefix) {
  if (prefix.empty()) return random_hex(2 * job_id_random_digits);
  return absl::StrCat(prefix.substr(0, max_job_id_prefix_size), "-",
                      random_hex(job_id_random_digits));
}

bool is_job_id_text(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

}  // namespace lci::boot
