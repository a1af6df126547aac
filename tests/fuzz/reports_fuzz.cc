// The reports and counters that ranks exchange through the bootstrap, with any bytes. Bytes that
// are accepted are written as the same bytes again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lci/observe/counter_table.h"
#include "lci/observe/job_report.h"
#include "lci/observe/rank_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lci::observe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto read = decode(text); read.ok()) {
    const auto again = decode(encode(*read));
    if (!again.ok() || encode(*again) != encode(*read)) std::abort();
    job_report job;
    job.size = 2;
    job.ranks.push_back(*read);
    job.ranks.push_back(*read);
    if (to_text(job).empty() || to_json(job).empty()) std::abort();
  }
  if (const auto counts = decode_counts(text); counts.ok()) {
    if (counter_table({{0, *counts}, {1, {}}}, {}).empty()) std::abort();
  }
  return 0;
}
