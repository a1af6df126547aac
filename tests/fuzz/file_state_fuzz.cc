// The file of the file bootstrap, with any bytes: it is refused, or read without harm.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "lci/boot/file_log.h"
#include "lci/boot/file_state.h"

namespace {

using lci::boot::file_log;
using lci::boot::file_state;

// A directory for the file of this process.
int directory() {
  static const int opened = [] {
    const char* const directory = std::getenv("TEST_TMPDIR");
    std::string path = std::string(directory != nullptr ? directory : "/tmp") + "/fuzz-XXXXXX";
    return mkdtemp(path.data()) == nullptr ? -1 : open(path.c_str(), O_RDONLY | O_DIRECTORY);
  }();
  return opened;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = openat(directory(), "round-0", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  close(file);
  auto log = file_log::open(directory(), "round-0");
  // A job of millions of ranks is a valid file, and takes the memory of their states.
  if (!log.ok() || log->job_size() > 100000) return 0;
  file_state state(log->job_size());
  if (!state.read(&*log).ok()) return 0;
  for (const file_state::member& each : state.members()) static_cast<void>(state.has_died(each));
  static_cast<void>(state.left_or_died());
  static_cast<void>(state.not_joined());
  return 0;
}
