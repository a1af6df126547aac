// The posts of a device.
#include <mutex>

#include "lci/base/copy.h"
#include "lci/net/shm/device.h"
#include "lci/net/shm/inline_put_imm.h"

namespace lci::net::shm {
namespace {

// Bytes of a put that fit into a line with its header.
constexpr size_t most_inline = cache_line_size - word_size - sizeof(inline_put_imm_header);

// Between memory of the program and memory that the rank behind `to` has opened, which is mapped
// here.
void copy_mapped(copy_direction direction, void* local, void* mapped, size_t size,
                 const ring_writer& to) {
  const bool is_put = direction == copy_direction::to_peer;
  void* const target = is_put ? mapped : local;
  const void* const source = is_put ? local : mapped;
  if (size <= cache_line_size) return base::copy_short(target, source, size);
  base::copy(is_put ? to.stores_for_put(size) : base::store_kind::cached, target, source, size);
}

// The same for a put or get that is complete then.
[[gnu::noinline]] error_t copy_long(op_kind kind, void* local, void* mapped, size_t size,
                                    const ring_writer& to) {
  copy_mapped(kind == op_kind::put ? copy_direction::to_peer : copy_direction::from_peer, local,
              mapped, size, to);
  return errorcode_t::done;
}

}  // namespace

error_t shm_device::post(const op& operation) {
  if (__builtin_expect(operation.kind != op_kind::send, 0)) {
    if (!health_.is_alive(operation.rank)) return errorcode_t::fatal;
    return post_remote_copy(operation);
  }
  return send(operation.rank, operation.imm,
              {operation.header, operation.header_size, operation.buffer, operation.size});
}

// Most are messages to a ring that one thread has nearly to itself: their way makes no call.
error_t shm_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                               const remote_place* where) {
  const int rank = what.rank;
  // (The uncommon cases are tail calls, so that this function needs no stack.)
  if (__builtin_expect(what.kind != op_kind::send, 0)) {
    return post_rma_short(what, imm, buffer, size, where);
  }
  if (__builtin_expect(health_.is_alive(rank) && ring_writer::is_short(size), 1)) {
    ring_writer& to = writer(rank);
    const ds::biased_lock::owner_guard guard(to.lock);
    if (guard && to.write_short(ring_message_kind::send, imm, buffer, size))
      return errorcode_t::done;
  }
  return post_message(what, imm, buffer, size);
}

// If the receiver gets the bytes by one system call, it has them in its own caches, where its program
// reads them. Several messages are faster if both ranks copy them at the same time.
bool shm_device::is_got_sooner(int rank, size_t size, bool alone) const {
  return alone && size > limits_.max_send && size < get_selectors::largest &&
         context_.rank_at(rank).access != reach::target_copies &&
         common_->selectors.of(rank, size).gets();
}

void shm_device::came(int rank, size_t size, bool got, std::chrono::nanoseconds time) {
  common_->selectors.of(rank, size).came(got, size, time);
}

// Of any size.
[[gnu::noinline]] error_t shm_device::post_message(short_op what, net_imm_data_t imm, void* buffer,
                                                   size_t size) {
  if (size > limits_.max_inject) return errorcode_t::retry;
  return send(what.rank, imm, {nullptr, 0, buffer, size});
}

error_t shm_device::send(int rank, net_imm_data_t imm, const iovec& message) {
  if (__builtin_expect(!health_.is_alive(rank), 0)) return errorcode_t::fatal;
  ring_writer& to = writer(rank);
  if (!to.lock.try_lock()) return errorcode_t::retry_lock;
  const bool written = to.write(ring_message_kind::send, imm, message);
  to.lock.unlock();
  return __builtin_expect(written, 1) ? error_t(errorcode_t::done) : full(rank);
}

// Nobody will make room in the ring to a rank that has ended its device.
error_t shm_device::full(int rank) const {
  return reader(rank).sender_closed() ? errorcode_t::fatal : errorcode_t::retry_nomem;
}

// Where bytes that a rank has opened are mapped here, if they were used before; else null. Most
// puts and gets are small, and of such memory: their way makes no call.
[[gnu::always_inline]] inline unsigned char* shm_device::find_mapped(int rank,
                                                                     const remote_place& where,
                                                                     size_t size) const {
  open_bytes open;
  const bool found = health_.is_alive(rank) && find_open(context_.rank_at(rank).regions(),
                                                         where.region, where.offset, size, &open);
  return __builtin_expect(found, 1) ? context_.rank_at(rank).mapped_before(open) : nullptr;
}

// A put or a get.
[[gnu::always_inline]] inline error_t shm_device::copy_short(short_op what, void* buffer,
                                                             size_t size,
                                                             const remote_place& where) {
  unsigned char* const mapped = find_mapped(what.rank, where, size);
  if (__builtin_expect(mapped == nullptr || size >= limits_.rma_short, 0)) {
    return device::post_short(what, 0, buffer, size, &where);
  }
  void* const to = what.kind == op_kind::put ? mapped : buffer;
  const void* const from = what.kind == op_kind::put ? buffer : mapped;
  if (__builtin_expect(size > cache_line_size, 0)) {
    return copy_long(what.kind, buffer, mapped, size, writer(what.rank));
  }
  base::copy_short(to, from, size);
  return errorcode_t::done;
}

// A put that notifies: through a ring that one thread has nearly to itself. Also one to memory that
// is mapped, since the target reads a line less if the bytes come with the word.
[[gnu::always_inline]] inline error_t shm_device::put_imm_short(int rank, net_imm_data_t imm,
                                                                const void* buffer, size_t size,
                                                                const remote_place& where) {
  if (__builtin_expect(size <= most_inline && health_.is_alive(rank), 1)) {
    ring_writer& to = writer(rank);
    const ds::biased_lock::owner_guard guard(to.lock);
    const put_place& last = last_put_to(rank);
    if (guard && last.reaches(where, size) &&
        is_open_still(context_.rank_at(rank).regions(), where.region) &&
        to.write_next_put(imm, where.offset - last.offset, buffer, size)) {
      return errorcode_t::done;
    }
  }
  return put_imm_elsewhere(rank, imm, buffer, size, where);
}

// One to another region than the last one, or far from it.
[[gnu::noinline]] error_t shm_device::put_imm_elsewhere(int rank, net_imm_data_t imm,
                                                        const void* buffer, size_t size,
                                                        const remote_place& where) {
  const peer& target = context_.rank_at(rank);
  open_bytes open;
  if (__builtin_expect(size <= most_inline && health_.is_alive(rank) &&
                           target.access != reach::here &&
                           find_open(target.regions(), where.region, where.offset, size, &open),
                       1)) {
    ring_writer& to = writer(rank);
    const ds::biased_lock::owner_guard guard(to.lock);
    if (guard && to.write_short(ring_message_kind::inline_put_imm, imm,
                                make_inline_put_imm(where.region, where.offset), buffer, size)) {
      last_put_to(rank) = {where.region, where.offset, open.length + 1};
      return errorcode_t::done;
    }
  }
  return device::post_short({rank, op_kind::put_imm}, imm, const_cast<void*>(buffer), size, &where);
}

[[gnu::noinline]] error_t shm_device::post_rma_short(short_op what, net_imm_data_t imm,
                                                     void* buffer, size_t size,
                                                     const remote_place* where) {
  return what.kind == op_kind::put_imm ? put_imm_short(what.rank, imm, buffer, size, *where)
                                       : copy_short(what, buffer, size, *where);
}

error_t shm_device::post_remote_copy(const op& operation) {
  const peer& target = context_.rank_at(operation.rank);
  open_bytes open;
  if (!find_open(target.regions(), operation.remote, operation.remote_offset, operation.size,
                 &open)) {
    return errorcode_t::fatal;
  }
  const copy_direction direction =
      operation.kind == op_kind::get ? copy_direction::from_peer : copy_direction::to_peer;
  unsigned char* const mapped = target.mapped(open);
  // A small put with a notification travels with its word: of mapped memory only one that is short,
  // as put_imm_elsewhere() does, so that the short ones stay in order.
  const bool fits_in_message = operation.kind == op_kind::put_imm && operation.size <= piece_ &&
                               (mapped == nullptr || operation.size <= most_inline);
  const bool through_ring =
      target.access != reach::here &&
      (fits_in_message || (mapped == nullptr && target.access == reach::target_copies));
  const bool is_for_both = mapped == nullptr && target.access == reach::kernel &&
                           direction == copy_direction::to_peer &&
                           operation.size >= cooperative_copy_size_;
  const bool cooperative = is_for_both && operation.latency_critical;
  if (is_for_both && !cooperative && operation.size > piece_) {
    const error_t posted = post_put_of_program(operation, open.address);
    if (!posted.is_retry()) return posted;
  }
  const auto copy = [&] {
    if (mapped == nullptr) {
      return context_.copy(operation.rank, direction, operation.buffer, open.address,
                           operation.size);
    }
    copy_mapped(direction, operation.buffer, mapped, operation.size, writer(operation.rank));
    return true;
  };
  if (!through_ring && !cooperative && operation.kind != op_kind::put_imm) {
    return copy() ? errorcode_t::done : errorcode_t::fatal;
  }
  ring_writer& to = writer(operation.rank);
  if (!to.lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::biased_lock> guard(to.lock, std::adopt_lock);
  // Again, under the lock: end_operations gives up what is open under the same lock.
  if (!health_.is_alive(operation.rank)) return errorcode_t::fatal;
  if (cooperative) return post_large(operation, open.address, to);
  if (through_ring) {
    const error_t posted =
        fits_in_message ? post_inline_put_imm(operation, open, to) : requests_.post(operation, to);
    if (posted.is_posted()) needs_polls();
    return posted.is_retry() ? full(operation.rank) : posted;
  }
  // The lock is held from the look for room to the message, so that the bytes are copied only once.
  const bool notifies = operation.kind == op_kind::put_imm;
  if (notifies && !to.has_room(0)) return full(operation.rank);
  if (!copy()) return errorcode_t::fatal;
  if (notifies) to.write(ring_message_kind::put_done, operation.imm, {});
  return errorcode_t::done;
}

// A large one that nobody waits for as far as we know. Both ranks copy it through the kernel: a target
// that makes no progress leaves all of it to us. Retry: we are to copy it without the target.
error_t shm_device::post_put_of_program(const op& operation, uint64_t remote) {
  ring_writer& to = writer(operation.rank);
  if (!to.lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::biased_lock> guard(to.lock, std::adopt_lock);
  if (!health_.is_alive(operation.rank)) return errorcode_t::fatal;
  const error_t posted = cooperative_.put(operation, remote, to, cooperative_copies::not_timed);
  if (posted.is_posted()) needs_polls();
  return posted;
}

// With the ring's lock. Done, or retry_nomem.
error_t shm_device::post_inline_put_imm(const op& operation, const open_bytes& open,
                                        ring_writer& to) {
  const inline_put_imm_header header =
      make_inline_put_imm(operation.remote, operation.remote_offset);
  const bool written = to.write(ring_message_kind::inline_put_imm, operation.imm,
                                {&header, sizeof(header), operation.buffer, operation.size});
  if (!written) return errorcode_t::retry_nomem;
  last_put_to(operation.rank) = {operation.remote, operation.remote_offset, open.length + 1};
  return errorcode_t::done;
}

// With the ring's lock.
error_t shm_device::post_large(const op& operation, uint64_t remote, ring_writer& to) {
  const std::optional<copy_path> path = large_puts_.next(operation.rank, operation.size);
  if (!path) return full(operation.rank);
  const int64_t begin = large_puts::now();
  large_puts_.began(*path, operation.rank, operation.size);
  const error_t posted = *path == copy_path::kernel ? cooperative_.put(operation, remote, to, begin)
                                                    : requests_.post(operation, to, begin);
  if (posted.is_posted()) needs_polls();
  if (posted.is_done() || posted.is_posted()) return posted;
  large_puts_.gave_up(*path, operation.rank, operation.size);
  return posted.is_retry() ? full(operation.rank) : posted;
}

void* shm_device::mapped_address(int rank, remote_region remote, uint64_t remote_offset,
                                 size_t size) {
  if (!health_.is_alive(rank)) return nullptr;
  const peer& target = context_.rank_at(rank);
  open_bytes open;
  if (!find_open(target.regions(), remote, remote_offset, size, &open)) return nullptr;
  return target.mapped(open);
}

bool shm_device::add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) {
  void* const word = mapped_address(rank, remote, remote_offset, sizeof(value));
  if (word == nullptr) return false;
  __atomic_fetch_add(static_cast<int64_t*>(word), value, __ATOMIC_RELEASE);
  return true;
}

}  // namespace lci::net::shm
