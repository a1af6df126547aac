#include "benchmarks/perf/output.h"

#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/perf/fields.h"

namespace perf {
namespace {

// JSON and CSV: the same fields.

// More digits than were measured.
std::string decimal(double value) { return absl::StrFormat("%.6g", value); }
std::string rate(double value) { return absl::StrFormat("%.1f", value); }

std::vector<field> fields(const surroundings& where, const figures& result) {
  const options& chosen = where.chosen;
  std::vector<field> all = {
      {"op", name_of(chosen.op), true},
      {"test", name_of(chosen.test), true},
      {"size", absl::StrCat(result.size), false},
      {"threads", absl::StrCat(chosen.threads), false},
      {"devices", chosen.devices, true},
      {"device_count", absl::StrCat(chosen.device_count), false},
      {"backend", where.backend, true},
      {"ranks", absl::StrCat(where.ranks), false},
      {"completion", name_of(chosen.completion), true},
      {"window", absl::StrCat(chosen.window), false},
      {"iterations", absl::StrCat(result.iterations), false},
      {"validate", chosen.validate ? "true" : "false", false},
      {"bind", name_of(chosen.bind), true},
      {"memory", name_of(chosen.memory), true},
      {"buffers", name_of(chosen.buffers), true},
      {"yield", absl::StrCat(chosen.yield), false},
      {"latency_us_mean", decimal(result.latency_us_mean), false},
      {"latency_us_p50", decimal(result.latency_us_p50), false},
      {"latency_us_p90", decimal(result.latency_us_p90), false},
      {"latency_us_p99", decimal(result.latency_us_p99), false},
      {"latency_us_p999", decimal(result.latency_us_p999), false},
      {"latency_us_max", decimal(result.latency_us_max), false},
      {"messages_per_s", rate(result.messages_per_s), false},
      {"bytes_per_s", rate(result.bytes_per_s), false},
      {"cpu_user_us", decimal(result.cpu_user_us), false},
      {"cpu_system_us", decimal(result.cpu_system_us), false},
      {"clock_ns", decimal(where.clock_ns), false},
      {"processor", where.processor, true},
      {"version", where.version, true},
      {"persistent", chosen.persistent ? "true" : "false", false},
      {"read", chosen.read ? "true" : "false", false},
  };
  if (!chosen.overlap) return all;
  const overlap_figures& overlap = result.overlap;
  const field more[] = {
      {"progress_calls", absl::StrCat(chosen.progress_calls), false},
      {"overlap_percent", decimal(overlap.percent), false},
      {"total_us", decimal(overlap.total_us), false},
      {"start_us", decimal(overlap.start_us), false},
      {"compute_us", decimal(overlap.compute_us), false},
      {"progress_us", decimal(overlap.progress_us), false},
      {"wait_us", decimal(overlap.wait_us), false},
  };
  all.insert(all.end(), std::begin(more), std::end(more));
  return all;
}

// Text.

bool is_about_time(test_kind test) {
  return test == test_kind::latency || test == test_kind::connect;
}

std::string pairs_of(const surroundings& where) {
  if (is_collective(where.chosen.op)) return "";
  return absl::StrCat(" in ", where.ranks / 2, where.ranks == 2 ? " pair" : " pairs");
}

const char* how_called(const options& chosen) { return chosen.persistent ? " (persistent)" : ""; }

// The meaning of one latency.
const char* latency_of(operation op) {
  if (is_collective(op)) return "in us, one call after the other, the mean of the ranks";
  return is_one_sided(op) ? "one way in us, until complete here"
                          : "one way in us, half of a round trip";
}
// The operations between two reads of the clock.
const char* sample_of(operation op) {
  if (is_collective(op)) return "call";
  return is_one_sided(op) ? "message" : "round trip";
}

std::string overlap_titles(const options& chosen) {
  std::string text = absl::StrCat(
      "# in us, the mean of the ranks: Latency without computation; Total with it, of which "
      "Start, ",
      "Compute,\n# Progress (", chosen.progress_calls,
      " calls) and Wait; Overlap in percent: max(0, 100 * (1 - (Total - Compute) / Latency))\n");
  absl::StrAppendFormat(&text, "%-11s %12s %12s %12s %12s %12s %12s %12s\n", "# Size", "Latency",
                        "Total", "Start", "Compute", "Progress", "Wait", "Overlap");
  return text;
}

std::string overlap_line(const figures& result) {
  const overlap_figures& overlap = result.overlap;
  return absl::StrFormat("%-11d %12.3f %12.3f %12.3f %12.3f %12.3f %12.3f %12.1f\n", result.size,
                         result.latency_us_mean, overlap.total_us, overlap.start_us,
                         overlap.compute_us, overlap.progress_us, overlap.wait_us, overlap.percent);
}

std::string text_header(const surroundings& where) {
  const options& chosen = where.chosen;
  std::string text = absl::StrCat("# LCI ", where.version,
                                  " lci_perf: ", chosen.overlap ? "overlap" : name_of(chosen.test),
                                  " of ", name_of(chosen.op), how_called(chosen), "\n");
  absl::StrAppend(&text, "# backend ", where.backend,
                  where.device.empty() ? "" : absl::StrCat(" (", where.device, ")"), ", ",
                  where.ranks, where.ranks == 1 ? " rank" : " ranks", pairs_of(where), ", threads ",
                  chosen.threads, ", devices ", chosen.devices, " (", chosen.device_count,
                  "), completion ", name_of(chosen.completion));
  if (!is_about_time(chosen.test)) absl::StrAppend(&text, ", window ", chosen.window);
  absl::StrAppend(&text, "\n# CPU ", where.processor, ", bind ", name_of(chosen.bind), ", memory ",
                  name_of(chosen.memory), ", buffers ", name_of(chosen.buffers), "\n");
  if (chosen.validate) absl::StrAppend(&text, "# data validated, which the figures include\n");
  if (chosen.read) absl::StrAppend(&text, "# data read, which the figures include\n");
  if (chosen.overlap) return text + overlap_titles(chosen);
  absl::StrAppend(&text, "# User and System: processor time of all ranks in us per message\n");
  if (!is_about_time(chosen.test)) {
    return absl::StrCat(text, absl::StrFormat("%-11s %16s %16s %12s %12s\n", "# Size",
                                              "Bandwidth (MB/s)", "Messages/s", "User", "System"));
  }
  if (chosen.test == test_kind::latency) {
    absl::StrAppendFormat(&text,
                          "# %s; percentiles include a look at the clock of %.0f ns for each %s\n",
                          latency_of(chosen.op), where.clock_ns, sample_of(chosen.op));
  } else {
    absl::StrAppend(&text,
                    "# until all threads have sent and received their first message, in us\n");
  }
  return absl::StrCat(
      text, absl::StrFormat("%-11s %12s %12s %12s %12s %12s %12s %12s %12s\n", "# Size", "Mean",
                            "p50", "p90", "p99", "p99.9", "Max", "User", "System"));
}

std::string text_line(const surroundings& where, const figures& result) {
  if (where.chosen.overlap) return overlap_line(result);
  if (is_about_time(where.chosen.test)) {
    return absl::StrFormat("%-11d %12.3f %12.3f %12.3f %12.3f %12.3f %12.3f %12.4f %12.4f\n",
                           result.size, result.latency_us_mean, result.latency_us_p50,
                           result.latency_us_p90, result.latency_us_p99, result.latency_us_p999,
                           result.latency_us_max, result.cpu_user_us, result.cpu_system_us);
  }
  return absl::StrFormat("%-11d %16.2f %16.0f %12.4f %12.4f\n", result.size,
                         result.bytes_per_s / 1e6, result.messages_per_s, result.cpu_user_us,
                         result.cpu_system_us);
}

}  // namespace

std::string header(const surroundings& where) {
  switch (where.chosen.format) {
    case output_format::text:
      return text_header(where);
    case output_format::csv:
      return csv_header(fields(where, {}));
    case output_format::json:
      break;
  }
  return "";
}

std::string line(const surroundings& where, const figures& result) {
  switch (where.chosen.format) {
    case output_format::text:
      break;
    case output_format::csv:
      return csv_line(fields(where, result));
    case output_format::json:
      return json_line(fields(where, result));
  }
  return text_line(where, result);
}

}  // namespace perf
