// Job ids, and random text.
#ifndef LCI_BOOT_JOB_ID_H_
#define LCI_BOOT_JOB_ID_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "lci/base/status.h"

namespace lci::boot {

// Returns `digits` random hexadecimal digits from the kernel.
std::string random_hex(size_t digits);

constexpr size_t max_job_id_size = 32;
// Length of the prefix taken from the launcher's id. The rest is for a dash and the random digits,
// and for a scope (scoped.h) and its dash.
constexpr size_t max_job_id_prefix_size = 14;
constexpr size_t job_id_random_digits = 8;
constexpr size_t max_scope_size = 8;
static_assert(max_job_id_prefix_size + 1 + job_id_random_digits + 1 + max_scope_size <=
              max_job_id_size);

// Makes a job id that differs from all others: `prefix` (the launcher's id for the job, so that the
// launcher can find what is named after it; may be empty) and random digits.
std::string make_job_id(std::string_view prefix);

// True if `text` consists of [A-Za-z0-9_-] only.
bool is_job_id_text(std::string_view text);
// An error that names the text, after `what`, if it is none.
base::Status check_job_id(std::string_view what, std::string_view text);

}  // namespace lci::boot

#endif  // LCI_BOOT_JOB_ID_H_
