#include "lci/runtime/matching.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "lci/base/log.h"
#include "lci/runtime/device.h"

namespace lci::rt {

using entry = ds::matching_table::entry_type;

matching_engine::~matching_engine() {
  // Messages that nobody received. The table holds both kinds; only these own memory.
  table_.for_each([](uint64_t, void* value, entry type) {
    if (type == entry::send) std::free(static_cast<unexpected*>(value)->bytes);
  });
}

void matching_engine::post_recv(const message& incoming) {
  message* receive = receives_.make();
  *receive = incoming;
  void* match = table_.insert(key(incoming.rank, incoming.tag), receive, entry::recv);
  if (match == nullptr) return;
  receives_.recycle(receive);
  unexpected* arrived = static_cast<unexpected*>(match);
  const unexpected taken = *arrived;
  unexpected_.recycle(arrived);
  if (taken.eager) {
    deliver(incoming, taken.bytes, taken.announced.size);
    std::free(taken.bytes);
  } else {
    accept(*taken.device, incoming, taken.announced);
  }
}

void matching_engine::on_eager(device_impl_t& device, int rank, tag_t tag, const void* bytes,
                               size_t size) {
  // The bytes are lent only for the length of this call, so they are copied before anybody else can
  // find the entry. A receive that is already there costs this copy; it is rare for it to be large.
  unexpected* arrived = unexpected_.make();
  arrived->device = &device;
  arrived->announced = {rank, tag, size, 0};
  arrived->eager = true;
  arrived->bytes = nullptr;
  if (size > 0) {
    arrived->bytes = std::malloc(size);
    if (arrived->bytes == nullptr) {
      unexpected_.recycle(arrived);
      throw std::bad_alloc();
    }
    std::memcpy(arrived->bytes, bytes, size);
  }
  void* match = table_.insert(key(rank, tag), arrived, entry::send);
  if (match == nullptr) return;
  std::free(arrived->bytes);
  unexpected_.recycle(arrived);
  message* receive = static_cast<message*>(match);
  const message incoming = *receive;
  receives_.recycle(receive);
  deliver(incoming, bytes, size);
}

void matching_engine::on_announced(device_impl_t& device, const announcement& announced) {
  unexpected* arrived = unexpected_.make();
  arrived->device = &device;
  arrived->announced = announced;
  arrived->bytes = nullptr;
  arrived->eager = false;
  void* match = table_.insert(key(announced.rank, announced.tag), arrived, entry::send);
  if (match == nullptr) return;
  unexpected_.recycle(arrived);
  message* receive = static_cast<message*>(match);
  const message incoming = *receive;
  receives_.recycle(receive);
  accept(device, incoming, announced);
}

void matching_engine::deliver(const message& incoming, const void* bytes, size_t size) {
  if (size > incoming.size) {
    LCI_LOG(error, "rank ", incoming.rank, " sent ", size, " bytes to a receive of ",
            incoming.size);
    incoming.signal(errorcode_t::fatal);
    return;
  }
  if (size > 0) std::memcpy(incoming.buffer, bytes, size);
  message received = incoming;
  received.size = size;
  received.signal(errorcode_t::done);
}

void matching_engine::accept(device_impl_t& device, const message& incoming,
                             const announcement& announced) {
  if (announced.size > incoming.size) {
    LCI_LOG(error, "rank ", incoming.rank, " wants to send ", announced.size,
            " bytes to a receive of ", incoming.size);
    device.rendezvous.reject(announced);
    incoming.signal(errorcode_t::fatal);
    return;
  }
  message received = incoming;
  received.size = announced.size;
  device.rendezvous.accept(announced, received);
}

}  // namespace lci::rt
