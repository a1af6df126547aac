#include "lci/net/shm/cooperative_copy.h"

#include <cstring>
#include <utility>

#include "lci/ds/shared_pieces.h"

namespace lci::net::shm {
namespace {

// False if the message is malformed.
bool decode(const incoming& message, cooperative_header* header) {
  if (message.size != sizeof(*header)) return false;
  std::memcpy(header, message.bytes, sizeof(*header));
  return header->number < cooperative_slots;
}

}  // namespace

cooperative_copies::cooperative_copies(int ranks, region_table& regions, copier copy,
                                       large_puts& timed)
    : regions_(regions),
      copy_(std::move(copy)),
      timed_(timed),
      with_(new conversation[static_cast<size_t>(ranks)]) {}

void cooperative_copies::attach(int rank, cooperative_slot* outgoing, cooperative_slot* incoming) {
  with_[static_cast<size_t>(rank)].outgoing = outgoing;
  with_[static_cast<size_t>(rank)].incoming = incoming;
}

// Requester.

error_t cooperative_copies::put(const op& operation, uint64_t remote, ring_writer& writer,
                                int64_t begin) {
  conversation& with = with_[static_cast<size_t>(operation.rank)];
  constexpr uint32_t all = (uint32_t{1} << cooperative_slots) - 1;
  if (with.used == all) reclaim(with);
  const uint32_t free = ~with.used & all;
  // Room for both messages: what the one promises, the other must be able to keep.
  if (free == 0 || !writer.has_room(2 * (sizeof(cooperative_header) + cell_size))) {
    return errorcode_t::retry_nomem;
  }
  const auto number = static_cast<uint32_t>(__builtin_ctz(free));
  cooperative_slot& slot = with.outgoing[number];
  slot.taken.store(0, std::memory_order_relaxed);
  slot.end.store(0, std::memory_order_relaxed);
  const bool notifies = operation.kind == op_kind::put_imm;
  cooperative_header header{number,
                            notifies ? 1u : 0u,
                            operation.remote.base,
                            operation.remote.key,
                            operation.remote_offset,
                            operation.size,
                            reinterpret_cast<uintptr_t>(operation.buffer)};
  writer.write(ring_message_kind::cooperative_put, operation.imm,
               {&header, sizeof(header), nullptr, 0});
  with.used |= uint32_t{1} << number;
  open_.fetch_add(1, std::memory_order_relaxed);

  auto* const local = static_cast<unsigned char*>(operation.buffer);
  bool whole = false;
  const ds::shared_pieces pieces(&slot.taken, operation.size);
  const uint64_t copied = pieces.take(
      ds::shared_pieces::side::front,
      [&](size_t at, size_t size) {
        return copy_(operation.rank, copy_direction::to_peer, local + at, remote + at, size);
      },
      &whole);
  if (!whole) header.flag = 0;  // no notification without the bytes
  writer.write(ring_message_kind::cooperative_done, operation.imm,
               {&header, sizeof(header), nullptr, 0});
  request& made = with.requests[number];
  made.context = operation.context;
  made.waits = whole && copied < pieces.count();
  made.size = operation.size;
  made.begin = begin;
  if (!whole) return errorcode_t::fatal;
  if (made.waits) return errorcode_t::posted;
  report(operation.rank, made, /*failed=*/false);
  return errorcode_t::done;
}

void cooperative_copies::report(int rank, const request& finished, bool failed) {
  if (finished.begin == not_timed) return;
  if (failed) {
    timed_.gave_up(copy_path::kernel, rank, finished.size);
  } else {
    timed_.ended(copy_path::kernel, rank, finished.size, finished.begin);
  }
}

bool cooperative_copies::finish(int rank, completion* out) {
  return close(rank, /*all=*/false, out);
}

bool cooperative_copies::give_up(int rank, completion* out) {
  return close(rank, /*all=*/true, out);
}

void cooperative_copies::free_slot(conversation& with, uint32_t number) {
  with.used &= ~(uint32_t{1} << number);
  open_.fetch_sub(1, std::memory_order_relaxed);
}

void cooperative_copies::reclaim(conversation& with) {
  for (uint32_t left = with.used; left != 0; left &= left - 1) {
    const auto number = static_cast<uint32_t>(__builtin_ctz(left));
    if (with.requests[number].waits ||
        with.outgoing[number].end.load(std::memory_order_acquire) == 0) {  // J1
      continue;
    }
    free_slot(with, number);
  }
}

bool cooperative_copies::close(int rank, bool all, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  for (uint32_t left = with.used; left != 0; left &= left - 1) {
    const auto number = static_cast<uint32_t>(__builtin_ctz(left));
    const uint32_t end = with.outgoing[number].end.load(std::memory_order_acquire);  // J1
    if (end == 0 && !all) continue;
    free_slot(with, number);
    const request& finished = with.requests[number];
    if (!finished.waits) continue;
    *out = make_completion(op_kind::put, rank, finished.context, end != cooperative_copied);
    report(rank, finished, out->failed);
    return true;
  }
  return false;
}

// Target.

take_result cooperative_copies::take(int rank, const incoming& message) {
  conversation& with = with_[static_cast<size_t>(rank)];
  cooperative_header header;
  if (!decode(message, &header)) return take_result::malformed;
  cooperative_slot* const slot = &with.incoming[header.number];
  // First all of it, so that the size is one that memory can have.
  const remote_region region{header.base, header.key};
  bool whole = regions_.use(region, header.offset, header.size, [](void*) {});
  if (whole) {
    ds::shared_pieces(&slot->taken, header.size)
        .take(
            ds::shared_pieces::side::back,
            [&](size_t at, size_t size) {
              bool copied = false;
              // Each piece anew: memory can't be closed while one is copied, and waits no longer.
              return regions_.use(region, header.offset + at, size, [&](void* to) {
                copied = copy_(rank, copy_direction::from_peer, to, header.source + at, size);
              }) && copied;
            },
            &whole);
  }
  const uint32_t bit = uint32_t{1} << header.number;
  with.failed = whole ? with.failed & ~bit : with.failed | bit;
  // J1 (release): pieces are in place, and the requester's bytes are not read any more.
  slot->end.store(whole ? cooperative_copied : cooperative_failed, std::memory_order_release);
  return take_result::nothing;
}

take_result cooperative_copies::take_done(int rank, const incoming& message, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  cooperative_header header;
  if (!decode(message, &header)) return take_result::malformed;
  if (header.flag == 0) return take_result::nothing;
  if ((with.failed >> header.number & 1) != 0) {
    report_closed_memory(rank);
    return take_result::nothing;
  }
  *out = make_event(completion_kind::remote_put, rank, message.imm);
  return take_result::completed;
}

}  // namespace lci::net::shm
