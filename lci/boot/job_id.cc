#include "lci/boot/job_id.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "lci/base/check.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::boot {

std::string random_hex(size_t digits) {
  const size_t size = (digits + 1) / 2;
  const std::string bytes = base::random_bytes(size);
  LCI_CHECK(bytes.size() == size, "getrandom: ", strerror(errno));
  return base::BytesToHexString(bytes).substr(0, digits);
}

std::string make_job_id(std::string_view prefix) {
  if (prefix.empty()) return random_hex(2 * job_id_random_digits);
  return base::StrCat(prefix.substr(0, max_job_id_prefix_size), "-",
                      random_hex(job_id_random_digits));
}

bool is_job_id_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return base::ascii_isalnum(c) || c == '_' || c == '-'; });
}

base::Status check_job_id(std::string_view what, std::string_view text) {
  if (is_job_id_text(text)) return base::OkStatus();
  return base::InvalidArgumentError(
      base::StrCat(what, "\"", text, "\": only letters, digits, _ and - are accepted"));
}

}  // namespace lci::boot
