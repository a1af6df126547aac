// Reads what a flight recorder (recorder.h) has written, of a rank that has died or still runs.
#ifndef LCI_OBSERVE_RECORDING_H_
#define LCI_OBSERVE_RECORDING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/observe/event.h"
#include "lci/observe/recording_file.h"

namespace lci::observe {

struct recorded_thread {
  uint32_t number = 0;
  uint32_t tid = 0;
  std::string name;
  uint64_t first = 1;  // number of the first of the events: those before it were overwritten
  // In the order of recording: by the end of each. An event is missing if it was being written or
  // overwritten while the file was read, or when the rank died.
  std::vector<event> events;
  uint64_t missing = 0;
};

struct recording {
  std::string path;
  int rank = 0;
  int ranks = 1;
  int64_t pid = 0;
  std::string job;
  std::string host;
  std::string program;
  // As recording_identity.
  uint64_t monotonic = 0;
  uint64_t realtime = 0;
  uint64_t realtime_error = 0;
  std::string clock;
  uint32_t events_per_thread = 0;
  uint32_t unrecorded_threads = 0;
  uint32_t keep_reasons = 0;
  bool has_ended = false;   // the rank has finalized
  bool is_running = false;  // the rank still records; of a file that was read on its host
  std::vector<recorded_thread> threads;
};

// Two copies of a file, the second made after the first was complete: an event that differs between
// them was being written. Every byte is checked; an error says what is wrong, and at which byte.
base::StatusOr<recording> decode_recording(std::string_view first, std::string_view second);

// The error names the file.
base::StatusOr<recording> read_recording(const std::string& path);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_RECORDING_H_
