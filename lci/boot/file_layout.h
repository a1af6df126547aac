// File of the file bootstrap, on one page: a header, then records, appended and never changed.
// Numbers are in the machine's byte order (`magic` reveals another order).
//
//   header  0   u64  magic            "LCIBOOT1"
//   (128)   8   u32  size             ranks of the job
//           12  u32  events           counts events that waiters look for; a futex
//           16  u64  committed        bytes of header and records that count; the rest is an
//                                     incomplete record of a writer that died, and is overwritten
//           24  40 bytes job id       padded with zeros
//           64  64 bytes              zero
//
//   record  0   u32  kind
//   (16)    4   u32  rank
//           8   u32  name bytes
//           12  u32  value bytes
//           16  name, value, zeros up to a multiple of 8
//
//   kind       name          value
//   join       node name     i64 pid, u64 start time, u32 local rank, u32 local size (0: count),
//                            process domain
//   leave      -             -
//   put        key           value
//   barrier    name          -
//   allgather  name          value
//   abort      -             the reason
//
// A writer holds the flock exclusively and first reads the new records. It writes the records
// first, then `committed` in one write. Last, it changes `events` if the record is one that a rank
// may wait for: the last join, a put, the last entry of a collective, a leave, an abort.
#ifndef LCI_BOOT_FILE_LAYOUT_H_
#define LCI_BOOT_FILE_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "lci/boot/bootstrap.h"

namespace lci::boot::file_layout {

constexpr uint64_t magic = 0x32544f4f4249434c;  // the bytes L C I B O O T 2

enum class kind : uint32_t { join = 1, leave, put, barrier, allgather, abort };

struct header {
  uint64_t magic;
  uint32_t size;
  uint32_t events;
  uint64_t committed;
  char job_id[40];
  char zero[64];
};
static_assert(sizeof(header) == 128);
static_assert(offsetof(header, size) == 8 && offsetof(header, events) == 12);
static_assert(offsetof(header, committed) == 16 && offsetof(header, job_id) == 24);

struct record {
  uint32_t kind;
  uint32_t rank;
  uint32_t name_size;
  uint32_t value_size;
};
static_assert(sizeof(record) == 16);

struct join_value {  // the process domain follows
  int64_t pid;
  uint64_t start_time;
  uint64_t image;
  uint32_t local_rank;
  uint32_t local_size;
};
static_assert(sizeof(join_value) == 32);

constexpr uint32_t max_ranks = 1 << 22;  // of a job: more would be a damaged header
constexpr size_t max_text_size = 4096;   // of names, and of values except puts and allgathers
static_assert(max_text_size >= bootstrap::max_key_size);

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }
constexpr uint64_t record_size(const record& r) {
  return sizeof(record) + padded(uint64_t{r.name_size} + r.value_size);
}

// False for a record that no writer of this version writes.
inline bool is_valid(const record& r, uint32_t job_size) {
  return r.kind >= static_cast<uint32_t>(kind::join) &&
         r.kind <= static_cast<uint32_t>(kind::abort) && r.rank < job_size &&
         r.name_size <= max_text_size && r.value_size <= bootstrap::max_value_size;
}

}  // namespace lci::boot::file_layout

#endif  // LCI_BOOT_FILE_LAYOUT_H_
