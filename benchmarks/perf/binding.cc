#include "benchmarks/perf/binding.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "lci.hpp"

namespace perf {
namespace {

// The processors that this process could use when it started: binding a thread later does not
// change it.
const cpu_set_t& allowed() {
  static const cpu_set_t set = [] {
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof(own), &own) != 0) {
      throw std::runtime_error(
          absl::StrCat("can't read which processors may be used: ", std::strerror(errno)));
    }
    return own;
  }();
  return set;
}

// The first of the processors that share its core, as the kernel lists them: "0,4" or "0-1". Where
// it does not say, each has a core of its own.
int core_of(int processor) {
  std::ifstream file(
      absl::StrCat("/sys/devices/system/cpu/cpu", processor, "/topology/thread_siblings_list"));
  int first = processor;
  file >> first;
  return file ? first : processor;
}

uint64_t hash_of(const void* bytes, size_t size, uint64_t hash) {  // FNV-1a
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  }
  return hash;
}

// The same number for ranks that compete for the same processors.
uint64_t neighborhood() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return hash_of(&allowed(), sizeof(cpu_set_t),
                 hash_of(host, std::strlen(host), 0xcbf29ce484222325));
}

}  // namespace

std::vector<int> places(std::vector<processor> processors) {
  // How many of the same core come before it.
  struct ranked {
    int turn;
    int number;
  };
  std::sort(processors.begin(), processors.end(),
            [](const processor& a, const processor& b) { return a.number < b.number; });
  std::map<int, int> seen;
  std::vector<ranked> all;
  for (const processor& one : processors) all.push_back({seen[one.core]++, one.number});
  std::stable_sort(all.begin(), all.end(),
                   [](const ranked& a, const ranked& b) { return a.turn < b.turn; });
  std::vector<int> result;
  for (const ranked& one : all) result.push_back(one.number);
  return result;
}

std::vector<processor> allowed_processors() {
  std::vector<processor> result;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &allowed())) result.push_back({number, core_of(number)});
  }
  return result;
}

int place_of(int position, int all, int places) {
  if (all <= places) return position;
  return static_cast<int>(int64_t{position} * places / all);
}

void bind_this_thread(const standing& of_rank, int thread) {
  static const std::vector<int> all = places(allowed_processors());
  const int place = place_of(of_rank.first + thread, of_rank.all, static_cast<int>(all.size()));
  const int processor = all[static_cast<size_t>(place)];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::runtime_error(absl::StrCat("--bind core: can't bind a thread to processor ",
                                          processor, ": ", std::strerror(errno),
                                          "; --bind none does without"));
  }
}

standing find_standing(int threads) {
  const uint64_t own = neighborhood();
  std::vector<uint64_t> everybody(static_cast<size_t>(lci::get_rank_n()));
  lci::allgather(&own, everybody.data(), sizeof(own));
  const auto before = std::count(everybody.begin(), everybody.begin() + lci::get_rank_me(), own);
  const auto ranks = std::count(everybody.begin(), everybody.end(), own);
  return {static_cast<int>(before) * threads, static_cast<int>(ranks) * threads};
}

std::string processor_name() {
  std::string name;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; name.empty() && std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != line.npos) name = line.substr(colon + 2);
  }
  if (name.empty()) {
    utsname system;
    name = uname(&system) == 0 ? system.machine : "unknown";
  }
  return absl::StrCat(name, " (", sysconf(_SC_NPROCESSORS_ONLN), " processors)");
}

}  // namespace perf
