#include "lci/coll/arena.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lci/api/types.hpp"
#include "lci/base/backoff.h"
#include "lci/base/strings.h"

namespace lci::coll {
namespace {

constexpr size_t page_size = 4096;
constexpr size_t round_up(size_t bytes) { return (bytes + page_size - 1) / page_size * page_size; }

// A rank that waits for the room of an earlier operation needs only operations before its own to
// finish.
static_assert(arena::publish_interval <= arena::areas && arena::publish_interval <= arena::lines);

constexpr size_t head_bytes =
    sizeof(block_header) + arena::lines * sizeof(line) + arena::records * sizeof(record);

// The address `offset` bytes behind the start of each block; null where the block is null.
std::vector<char*> places_in(const std::vector<void*>& blocks, size_t offset) {
  std::vector<char*> made;
  for (void* each : blocks) {
    made.push_back(each == nullptr ? nullptr : static_cast<char*>(each) + offset);
  }
  return made;
}

}  // namespace

size_t arena::areas_offset() { return round_up(head_bytes); }
size_t arena::pipe_offset() { return paths_offset() + round_up(path_table::bytes()); }
size_t arena::block_bytes() { return pipe_offset() + round_up(pipes::bytes()); }

arena::arena(int rank, const std::vector<void*>& blocks, memory_access access,
             const crossovers& sizes, std::vector<int> names, uint64_t numbers_per_call,
             path_table::clock now)
    : rank_(rank),
      blocks_(places_in(blocks, 0)),
      pipes_(rank, places_in(blocks, pipe_offset())),
      paths_(rank, places_in(blocks, paths_offset()), sizes.selects_paths, sizes.in_caches, now),
      access_(std::move(access)),
      sizes_(sizes),
      names_(std::move(names)),
      numbers_per_call_(numbers_per_call) {
  const bool all_mapped = std::find(blocks.begin(), blocks.end(), nullptr) == blocks.end();
  if (blocks_[static_cast<size_t>(rank)] == nullptr) {
    joined_ = static_cast<uint32_t>(join_state::failed);
    return;
  }
  const join_state own = !all_mapped    ? join_state::failed
                         : access_.read ? join_state::readable
                                        : join_state::mapped;
  header_of(rank).joined.store(static_cast<uint32_t>(own), std::memory_order_release);
}

int arena::missing() const {
  for (int r = 0; r < size(); ++r) {
    // Of a rank whose block is not mapped here, this rank itself says `failed`.
    if (block_of(r) == nullptr) continue;
    if (header_of(r).joined.load(std::memory_order_acquire) == 0) return r;
  }
  return -1;
}

arena::join_state arena::joined() {
  const uint32_t known = joined_.load(std::memory_order_relaxed);
  if (__builtin_expect(known != 0, 1)) return static_cast<join_state>(known);
  auto least = static_cast<uint32_t>(join_state::readable);
  if (missing() >= 0) return join_state::unknown;
  for (int r = 0; r < size(); ++r) {
    if (block_of(r) == nullptr) continue;
    least = std::min(least, header_of(r).joined.load(std::memory_order_acquire));
  }
  joined_.store(least, std::memory_order_relaxed);
  return static_cast<join_state>(least);
}

void arena::write_record(record* to, uint64_t number, uint64_t hash, const signature& called) {
  to->number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  to->hash.store(hash, std::memory_order_relaxed);
  to->kind_and_root.store(
      static_cast<uint64_t>(called.kind) << 32 | static_cast<uint32_t>(called.root),
      std::memory_order_relaxed);
  to->size.store(called.size, std::memory_order_relaxed);
  to->item_size.store(called.item_size, std::memory_order_relaxed);
  to->layout.store(called.layout, std::memory_order_relaxed);
  to->number.store(number, std::memory_order_release);
}

bool arena::read_record(const record& from, uint64_t number, uint64_t* hash, signature* called) {
  if (from.number.load(std::memory_order_acquire) != number) return false;
  *hash = from.hash.load(std::memory_order_relaxed);
  const uint64_t kind_and_root = from.kind_and_root.load(std::memory_order_relaxed);
  called->kind = static_cast<operation_kind>(kind_and_root >> 32);
  called->root = static_cast<int32_t>(static_cast<uint32_t>(kind_and_root));
  called->size = from.size.load(std::memory_order_relaxed);
  called->item_size = from.item_size.load(std::memory_order_relaxed);
  called->layout = from.layout.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  return from.number.load(std::memory_order_relaxed) == number;
}

uint64_t arena::begin(uint64_t number, const signature& called) {
  hash_ = extend_hash(hash_, called);
  if (block_of(rank_) != nullptr) {
    write_record(&records_of(rank_)[number % records], number, hash_, called);
  }
  return hash_;
}

void arena::finish(uint64_t number) {
  if (const ds::biased_lock::owner_guard guard(mutex_); guard) return note_finished(number);
  for (base::backoff backoff; !mutex_.try_lock();) backoff.idle();
  const std::lock_guard<ds::biased_lock> guard(mutex_, std::adopt_lock);
  note_finished(number);
}

void arena::note_finished(uint64_t number) {
  if (number != finished_ + 1) {
    finish_early(number);
    return;
  }
  ++finished_;
  while (__builtin_expect(early_count_ != 0, 0) && early_[(finished_ + 1) % early_.size()]) {
    early_[(finished_ + 1) % early_.size()] = false;
    --early_count_;
    ++finished_;
  }
  const uint64_t published = finished_ / publish_interval * publish_interval;
  if (block_of(rank_) != nullptr && published != published_) publish_finished(published);
}

void arena::publish_finished(uint64_t number) {
  if (paths_.awaits_ranks()) {
    const join_state all = joined();
    if (all == join_state::mapped || all == join_state::readable) {
      // A rank that looks up the path of this operation has seen a greater number than published_.
      paths_.begin_to_select(published_ + areas + 1, all == join_state::readable);
    }
  }
  published_ = number;
  header_of(rank_).finished.store(number, std::memory_order_release);
}

void arena::finish_early(uint64_t number) {
  if (number - finished_ > early_.size()) {
    std::vector<bool> more(2 * std::max<uint64_t>(early_.size(), number - finished_));
    for (uint64_t each = finished_ + 1; each <= finished_ + early_.size(); ++each) {
      more[each % more.size()] = early_[each % early_.size()];
    }
    early_.swap(more);
  }
  early_[number % early_.size()] = true;
  ++early_count_;
}

void arena::break_off(uint64_t number, int lost) {
  if (block_of(rank_) == nullptr) return;
  block_header& own = header_of(rank_);
  if (lost >= 0) own.lost.store(static_cast<uint64_t>(lost) + 1, std::memory_order_relaxed);
  uint64_t none = 0;
  own.broken.compare_exchange_strong(none, number, std::memory_order_release);
}

uint64_t arena::look_for_finished() {
  uint64_t least = ~uint64_t{0};
  for (int r = 0; r < size(); ++r) {
    least = std::min(least, header_of(r).finished.load(std::memory_order_acquire));
  }
  all_finished_.store(least, std::memory_order_release);
  return least;
}

void arena::read(int rank, void* to, uint64_t from, size_t size) const {
  if (access_.read(rank, to, from, size)) return;
  throw memory_error(name_of(rank),
                     base::StrCat("lci: rank ", name_of(rank_), " cannot read ", size,
                                  " bytes of the memory of rank ", name_of(rank),
                                  ": has that rank ended, or freed its buffer?"));
}

void arena::open_memory(uint64_t number) const {
  memory_line& own = line_of(rank_, number).memory;
  own.taken.store(0, std::memory_order_relaxed);
  own.is_root_done.store(false, std::memory_order_relaxed);
  own.gate.open();
}

bool arena::write(int rank, uint64_t number, uint64_t to, const void* from, size_t size) const {
  const ds::write_gate& gate = line_of(rank, number).memory.gate;
  const bool is_written =
      line_of(rank_, number).writer.write(gate, static_cast<uint32_t>(rank), [&] {
        return access_.write(rank, to, from, size);
      });
  if (is_written || gate.is_closed()) return is_written;
  throw memory_error(name_of(rank), base::StrCat("lci: rank ", name_of(rank_), " cannot write ",
                                                 size, " bytes to the memory of rank ",
                                                 name_of(rank), ": has that rank ended?"));
}

void arena::close_memory(uint64_t number) const {
  line_of(rank_, number).memory.gate.close();
  for (int r = 0; r < size(); ++r) {
    const line& theirs = line_of(r, number);
    // A process that has ended has no memory. One that lives has its data there while it writes.
    const auto has_ended = [&] {
      char byte = 0;
      return !access_.read(r, &byte, theirs.send_address, sizeof(byte));
    };
    base::backoff backoff;
    while (theirs.writer.writes_to(static_cast<uint32_t>(rank_)) && !has_ended()) backoff.idle();
  }
}

arena::difference arena::first_difference(uint64_t number) const {
  if (block_of(rank_) == nullptr) return {};  // then this rank has no records
  const uint64_t oldest = number < records ? 1 : number - records + 1;
  for (uint64_t each = oldest; each <= number; ++each) {
    difference found;
    uint64_t own_hash = 0;
    if (!read_record(records_of(rank_)[each % records], each, &own_hash, &found.own)) continue;
    for (int r = 0; r < size(); ++r) {
      uint64_t their_hash = 0;
      if (r == rank_ || block_of(r) == nullptr) continue;
      if (!read_record(records_of(r)[each % records], each, &their_hash, &found.remote)) continue;
      if (their_hash == own_hash) continue;
      found.number = each;
      found.rank = r;
      return found;
    }
  }
  return {};
}

void arena::check_agreement(uint64_t number) const {
  // All later hashes differ, too.
  const difference first = first_difference(number);
  // Read after the records: a rank that has broken off an operation may call another one next.
  for (int r = 0; r < size(); ++r) {
    if (block_of(r) == nullptr) continue;
    const uint64_t broken = header_of(r).broken.load(std::memory_order_acquire);
    if (broken == 0 || broken > number || (first.number != 0 && broken >= first.number)) continue;
    const uint64_t lost = header_of(r).lost.load(std::memory_order_relaxed);
    if (lost != 0) {
      throw peer_failure_error(
          static_cast<int>(lost - 1),
          base::StrCat("lci: rank ", lost - 1, " is gone (found by rank ", name_of(r),
                       " in collective operation ", call_of(broken), ")"));
    }
    throw std::runtime_error(
        base::StrCat("lci: rank ", name_of(r), " broke off collective operation ", call_of(broken),
                     " by an error, and rank ", name_of(rank_), " is in number ", call_of(number)));
  }
  if (first.number == 0) return;
  throw std::runtime_error(
      base::StrCat("lci: the ranks call different collective operations: as number ",
                   call_of(first.number), ", rank ", name_of(rank_), " calls ", to_text(first.own),
                   ", and rank ", name_of(first.rank), " calls ", to_text(first.remote)));
}

}  // namespace lci::coll
