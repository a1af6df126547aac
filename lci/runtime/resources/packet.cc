#include "lci/runtime/resources/packet.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "lci/base/error_text.h"
#include "lci/base/log.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/resources/net_context.h"

namespace lci {
namespace rt {

packet_regions::packet_regions(net::context& network, const packet_pool_impl_t& pool)
    : network_(network),
      pool_(pool),
      slabs_(new std::atomic<uint64_t>[(pool.bytes_ >> slab_bits) + 1]()) {}

packet_regions::~packet_regions() {
  for (size_t slab = 0; slab <= pool_.bytes_ >> slab_bits; ++slab) {
    const uint64_t known = slabs_[slab].load(std::memory_order_relaxed);
    if (known != 0) network_.deregister_memory({known});
  }
}

// With the last packet that begins in it.
net::local_region packet_regions::enter(size_t slab) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint64_t known = slabs_[slab].load(std::memory_order_relaxed);
  if (known != 0) return {known};
  const size_t first = slab << slab_bits;
  const size_t size = std::min((size_t{1} << slab_bits) + pool_.stride_, pool_.bytes_ - first);
  const auto made = network_.register_memory(pool_.base_ + first, size);
  if (!made.ok()) {
    throw_runtime_error("can't register ", size, " bytes of packet pool \"", pool_.attr.name,
                        "\": ", made.status().ToString());
  }
  slabs_[slab].store(made->handle, std::memory_order_release);
  return *made;
}

void put_checked(packet* returned) {
  if (returned->magic_ != packet::watched && returned->magic_ != packet::returned) {
    throw_invalid_argument("put_upacket: this is not a packet");
  }
  if (returned->is_loose()) return loose_packets::put_checked(returned);
  returned->pool()->returned_.add(returned, returned->pool()->attr.packet_size);
}

}  // namespace rt

namespace {

// Packets that a thread takes into use when no thread has any left: few, since each costs a page of
// memory, but enough to make the lock cheap.
constexpr size_t packets_at_a_time = 8;

const packet_pool_attr_t& checked(const packet_pool_attr_t& attr) {
  if (attr.packet_size < 256 || attr.packet_size > 65536) {
    rt::throw_invalid_argument("attribute packet_size is ", attr.packet_size, ", not 256 to 65536");
  }
  // So many that their bytes can still be counted.
  if (attr.npackets < 1 || attr.npackets > (size_t{1} << 30)) {
    rt::throw_invalid_argument("attribute npackets is ", attr.npackets, ", not 1 to 2^30");
  }
  return attr;
}

}  // namespace

packet_pool_impl_t::packet_pool_impl_t(rt::rank_state& state, const packet_pool_attr_t& attributes)
    : runtime(state.owner),
      attr(checked(attributes)),
      // The bytes that the packet holds behind its header, in whole lines.
      stride_(sizeof(rt::packet) + (attr.packet_size + 63) / 64 * 64),
      stock_(std::min(state.attr().packet_return_threshold, attr.npackets)),
      loose_(attr.packet_kept_bytes, state.checks() != nullptr),
      returned_(attr.packet_kept_bytes),
      state_(state) {
  bytes_ = stride_ * attr.npackets;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    rt::throw_memory_error("no addresses for ", bytes_, " bytes: attribute npackets is ",
                           attr.npackets, ", and packet_size ", attr.packet_size, ": ",
                           base::error_text(errno), "; see ulimit -v, or set a smaller npackets");
  }
  base_ = static_cast<unsigned char*>(memory);
  state_.packet_pools().add(this);
}

packet_pool_impl_t::~packet_pool_impl_t() {
  state_.packet_pools().remove(this, [] {});
  munmap(base_, bytes_);
}

rt::packet* packet_pool_impl_t::grow() {
  const std::lock_guard<std::mutex> guard(growth_);
  const size_t first = used_.load(std::memory_order_relaxed);
  const size_t count = std::min(packets_at_a_time, attr.npackets - first);
  if (count == 0) {
    if (rt::packet* const oldest = returned_.take_oldest()) return oldest;
    exhausted_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  stock_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    auto* packet = reinterpret_cast<rt::packet*>(base_ + stride_ * (first + i));
    packet->pool_ = this;
    packet->magic_ = state_.checks() == nullptr ? rt::packet::magic : rt::packet::watched;
    packet->owner_ = base::thread_number();
    if (i > 0) stock_.put(packet);
  }
  used_.store(first + count, std::memory_order_relaxed);
  return reinterpret_cast<rt::packet*>(base_ + stride_ * first);
}

void packet_pool_impl_t::report_lost() {
  LCI_LOG(warn, "no memory for this thread's stock in packet pool \"", attr.name,
          "\": a packet of ", attr.packet_size, " bytes is lost to it");
}

size_t packet_pool_impl_t::in_use() const {
  return used_.load(std::memory_order_relaxed) - stock_.size() - returned_.size();
}

void packet_pool_impl_t::read(packet_pool_counters_t* out) const {
  out->packets = attr.npackets;
  out->used = used_.load(std::memory_order_relaxed);
  // Others take and return packets meanwhile.
  out->in_use = std::min<uint64_t>(in_use(), out->used);
  out->exhausted = exhausted_.load(std::memory_order_relaxed);
  out->kept_bytes = loose_.kept_bytes();
}

rt::packet_regions& packet_pool_impl_t::regions(net_context_impl_t& context) {
  const std::lock_guard<std::mutex> guard(regions_mutex_);
  for (const auto& known : regions_) {
    if (known.first == &context) return *known.second;
  }
  regions_.emplace_back(&context, std::make_unique<rt::packet_regions>(*context.net, *this));
  return *regions_.back().second;
}

void packet_pool_impl_t::forget(net_context_impl_t& context) {
  loose_.forget(*context.net);
  const std::lock_guard<std::mutex> guard(regions_mutex_);
  for (auto known = regions_.begin(); known != regions_.end(); ++known) {
    if (known->first != &context) continue;
    regions_.erase(known);
    return;
  }
}

}  // namespace lci
