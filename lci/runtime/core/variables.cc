#include "lci/runtime/core/variables.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "lci/api/attr.hpp"
#include "lci/base/edit_distance.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"

namespace lci::rt {
namespace {

// How package managers and modules say where a package is.
constexpr std::string_view package_suffixes[] = {"ROOT", "DIR",     "HOME",  "PATH",   "PREFIX",
                                                 "INC",  "INCLUDE", "LIB",   "LIBDIR", "BIN",
                                                 "VER",  "VERSION", "BUILD", "SRC",    "SOURCE"};

constexpr std::string_view prefix = "LCI_";
// Set by lcrun, so that it finds the processes of its job.
constexpr std::string_view mark_of_lcrun = "LCI_JOB_NODE";

std::vector<variable> all_variables() {
  std::vector<variable> all = {
      {"LCI_LOG_LEVEL", "none, error, warn, info, debug", "warn",
       "how much the library writes to the standard error stream"},
      {"LCI_BOOT", "auto, local, file, tcp", "auto",
       "how ranks find each other; auto: tcp if LCI_BOOT_ADDR is set or the launcher reports "
       "several machines, else file; local: one process"},
      {"LCI_RANK", "0 to LCI_SIZE - 1", "the launcher's",
       "number of this process; set together with LCI_SIZE"},
      {"LCI_SIZE", "1 or more", "the launcher's", "processes of the job"},
      {"LCI_LOCAL_RANK", "0 to LCI_LOCAL_SIZE - 1", "counted",
       "number of this process among those of its host"},
      {"LCI_LOCAL_SIZE", "1 to LCI_SIZE", "counted", "processes of the job on this host"},
      {"LCI_JOB_ID", "letters, digits, _ and -", "the launcher's",
       "name of the job, equal in all ranks"},
      {"LCI_BOOT_ADDR", "host:port or [v6]:port", "",
       "tcp: where the launcher serves, or rank 0 without such a launcher; if it is not set, rank "
       "0 "
       "chooses, and says so in a file in LCI_BOOT_DIR"},
      {"LCI_BOOT_TOKEN", "at most 64 bytes", "",
       "tcp: secret of the job; processes without it are refused. Without a secret only processes "
       "of the "
       "same user on the same host are accepted"},
      {"LCI_BOOT_DIR", "directory", "lci-UID in a temporary directory; tcp: ~/.cache/lci",
       "file: where jobs have their directories; tcp without LCI_BOOT_ADDR: where rank 0 writes "
       "its addresses. Ranks on several hosts need one that all of them share"},
      {"LCI_BOOT_TIMEOUT", "seconds", "60", "how long ranks wait for each other at start"},
      {"LCI_HANG_REPORT", "seconds", "30",
       "how long a call of the library waits, or posts are refused while no thread polls their "
       "device, before the state of the job is reported; 0: never, and ranks that wait for others "
       "at start do not say so either"},
      {"LCI_CHECK", "0, 1", "0",
       "whether the library looks for mistakes of the program where it costs time: buffers that "
       "change or overlap while operations are pending, completion objects that are freed too "
       "early or never, packets that are returned twice, posts that answered retry and were not "
       "repeated, operations that nobody makes progress for, and what is left or in use when a "
       "runtime is freed"},
      {"LCI_CHECK_BYTES", "bytes", "1048576",
       "with LCI_CHECK: how many bytes of each buffer are looked at: of a larger buffer half of "
       "them at its beginning and half of them at its end"},
      {"LCI_STATS", "0, 1", "0",
       "whether the library counts its traffic; rank 0 then writes a table of all ranks at the "
       "end"},
      {"LCI_RECORD", "0, 1, keep", "0",
       "whether each rank records its last events in a file, which lci_trace reads. The file "
       "remains if the rank dies, loses a peer or is asked for a report; keep: it always does"},
      {"LCI_RECORD_DIR", "directory", "/dev/shm", "where the files are"},
      {"LCI_RECORD_EVENTS", "power of two, 64 to 1M", "4096",
       "events of each thread that are kept, of 64 bytes each"},
  };
  for (const net::backend_entry* each : net::list_backends()) {
    if (each->variables == nullptr) continue;
    const std::vector<variable> more = each->variables();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const variable& each : variables()) names.emplace_back(each.name);
#define LCI_NAME_OF_ATTR(type_, name_, default_, doc_) \
  names.push_back(base::StrCat("LCI_ATTR_", base::AsciiStrToUpper(#name_)));
  LCI_GLOBAL_ATTRS(LCI_NAME_OF_ATTR)
#undef LCI_NAME_OF_ATTR
  return names;
}

// Most mistakes are a letter or two, or a prefix that was forgotten (LCI_PACKET_SIZE).
std::string nearest_of(const std::vector<std::string>& names, const std::string& name) {
  const std::string as_attribute = base::StrCat("LCI_ATTR_", name.substr(prefix.size()));
  std::string nearest;
  size_t least = name.size() / 3;
  for (const std::string& known : names) {
    const size_t distance =
        std::min(base::edit_distance(name, known), 1 + base::edit_distance(as_attribute, known));
    if (distance < least || (distance == least && nearest.empty())) {
      least = distance;
      nearest = known;
    }
  }
  return nearest;
}

}  // namespace

const std::vector<variable>& variables() {
  static const auto& table = *new std::vector<variable>(all_variables());
  return table;
}

std::vector<unknown_variable> unknown_variables(const char* const* environment) {
  std::vector<unknown_variable> unknown;
  std::vector<std::string> names;  // made for the first variable that is looked up
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.substr(0, prefix.size()) != prefix) continue;
    const std::string name(entry.substr(0, entry.find('=')));
    // Settings of tests of the library, which the library itself does not read.
    if (name.rfind("LCI_TEST_", 0) == 0 || name == mark_of_lcrun) continue;
    const std::string_view rest = std::string_view(name).substr(prefix.size());
    if (std::find(std::begin(package_suffixes), std::end(package_suffixes), rest) !=
        std::end(package_suffixes)) {
      continue;
    }
    if (names.empty()) names = known_names();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string nearest = nearest_of(names, name);
    unknown.push_back({name, std::move(nearest)});
  }
  std::sort(unknown.begin(), unknown.end(),
            [](const unknown_variable& a, const unknown_variable& b) { return a.name < b.name; });
  return unknown;
}

void warn_of_unknown_variables() {
  for (const unknown_variable& each : unknown_variables(environ)) {
    if (each.nearest.empty()) {
      LCI_LOG(warn, "the environment variable ", each.name,
              " is unknown; lci_info lists those that exist");
    } else {
      LCI_LOG(warn, "the environment variable ", each.name, " is unknown; is ", each.nearest,
              " meant?");
    }
  }
}

}  // namespace lci::rt
