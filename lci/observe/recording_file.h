// The layout of a recording: the file of a rank's last events, which its threads write through a
// mapping and which remains if the rank dies.
//
//   header      4096 bytes: what the rank is, written once and checked by a sum; then what changes
//   ring 0      ring_header, then events_per_ring events of 64 bytes (event.h)
//   ring 1      ...
//
// Every ring is of one thread number (base::thread_number). Event n of a ring, from 1, is in slot
// (n - 1) % events_per_ring. Its first word is n when it is whole, and 0 while it is written.
// Integers have the byte order of the host. The rank holds a lock of the file (flock(2)) as long as
// it runs.
#ifndef LCI_OBSERVE_RECORDING_FILE_H_
#define LCI_OBSERVE_RECORDING_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "lci/base/strings.h"
#include "lci/observe/event.h"

namespace lci::observe {

constexpr char recording_magic[8] = {'L', 'C', 'I', ' ', 'r', 'e', 'c', '\n'};
constexpr uint32_t recording_version = 1;
constexpr const char* recording_suffix = ".lcirec";

constexpr size_t recording_header_size = 4096;
constexpr uint32_t default_events_per_ring = 4096;
constexpr uint32_t min_events_per_ring = 64;
constexpr uint32_t max_events_per_ring = uint32_t{1} << 20;
// Later threads are not recorded.
constexpr uint32_t max_rings = 1024;

inline uint64_t sum_of(const void* bytes, size_t size) {
  return base::Fnv1a({static_cast<const char*>(bytes), size});
}

// The part that does not change after the file has been made. Texts end with a zero byte.
struct recording_identity {
  char magic[8];
  uint32_t version;
  uint32_t events_per_ring;  // a power of two
  int32_t rank;
  int32_t ranks;  // of the job
  int64_t pid;
  // The same moment by two clocks, in nanoseconds.
  uint64_t monotonic;  // CLOCK_MONOTONIC, by which all events are timed
  uint64_t realtime;   // CLOCK_REALTIME
  // How far CLOCK_REALTIME may be from the time of the world, as the kernel estimates it
  // (adjtimex(2)); UINT64_MAX: the kernel does not know, because nothing sets the clock.
  uint64_t realtime_error;
  char job[48];
  char host[72];
  char program[64];
  char clock[128];  // equal in processes that have CLOCK_MONOTONIC in common
  uint64_t sum;     // of all before
};

// Why a recording is kept when its rank ends as it should.
enum keep_reason : uint32_t {
  keep_peer_lost = 1,
  keep_report = 2,
  keep_wanted = 4,
  keep_failure = 8,
};
constexpr uint32_t all_keep_reasons = 15;

// The part that changes.
struct recording_state {
  std::atomic<uint32_t> rings;         // that are there
  std::atomic<uint32_t> unrecorded;    // threads without a ring
  std::atomic<uint32_t> keep_reasons;  // a set
  std::atomic<uint32_t> has_ended;     // 1: the rank has finalized
};
struct recording_header {
  recording_identity identity;
  recording_state state;
};
static_assert(sizeof(recording_header) <= recording_header_size);
static_assert(std::is_trivially_copyable_v<recording_identity>);

struct ring_header {
  uint32_t number;  // of the thread
  uint32_t tid;     // of the first thread with this number
  char name[16];    // its name
  uint64_t zero[4];
  uint64_t sum;  // of all before
};
static_assert(sizeof(ring_header) == event_words * sizeof(uint64_t));

constexpr size_t event_size = event_words * sizeof(uint64_t);
constexpr size_t ring_size(uint32_t events) { return sizeof(ring_header) + events * event_size; }
constexpr size_t ring_offset(uint32_t ring, uint32_t events) {
  return recording_header_size + ring * ring_size(events);
}

// Sets a text member, without what does not fit.
template <size_t size>
void set_text(char (&to)[size], const std::string& text) {
  std::memset(to, 0, size);
  std::memcpy(to, text.data(), text.size() < size ? text.size() : size - 1);
}

}  // namespace lci::observe

#endif  // LCI_OBSERVE_RECORDING_FILE_H_
