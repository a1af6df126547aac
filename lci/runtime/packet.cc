#include "lci/runtime/packet.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "lci/runtime/net_context.h"

namespace lci {
namespace rt {

packet* packet::make_loose(size_t size) {
  const size_t bytes =
      (sizeof(packet) + size + alignof(packet) - 1) / alignof(packet) * alignof(packet);
  void* memory = size > bytes ? nullptr : std::aligned_alloc(alignof(packet), bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* made = static_cast<packet*>(memory);
  made->pool_ = nullptr;
  made->magic_ = magic;
  return made;
}

void packet::put() {
  if (pool_ != nullptr) {
    pool_->put(this);
  } else {
    magic_ = 0;
    std::free(this);
  }
}

}  // namespace rt

namespace {

const packet_pool_attr_t& checked(const packet_pool_attr_t& attr) {
  if (attr.packet_size < 256 || attr.packet_size > 65536) {
    throw std::invalid_argument(
        absl::StrCat("lci: attribute packet_size is ", attr.packet_size, ", not 256 to 65536"));
  }
  // So many that their bytes can still be counted.
  if (attr.npackets < 1 || attr.npackets > (size_t{1} << 30)) {
    throw std::invalid_argument(
        absl::StrCat("lci: attribute npackets is ", attr.npackets, ", not 1 to 2^30"));
  }
  return attr;
}

}  // namespace

packet_pool_impl_t::packet_pool_impl_t(runtime_impl_t& owner, const packet_pool_attr_t& attributes)
    : runtime(owner),
      attr(checked(attributes)),
      // What the packet holds behind its header, in whole lines.
      stride_(sizeof(rt::packet) + (attr.packet_size + 63) / 64 * 64) {
  bytes_ = stride_ * attr.npackets;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<unsigned char*>(memory);
}

packet_pool_impl_t::~packet_pool_impl_t() { munmap(base_, bytes_); }

rt::packet* packet_pool_impl_t::get() {
  const std::lock_guard<ds::spinlock> guard(lock_);
  if (!free_.empty()) {
    rt::packet* packet = free_.back();
    free_.pop_back();
    return packet;
  }
  if (used_ == attr.npackets) return nullptr;
  if (free_.capacity() <= used_) free_.reserve(2 * used_ + 64);  // so that put can't fail
  auto* packet = reinterpret_cast<rt::packet*>(base_ + stride_ * used_);
  ++used_;
  packet->pool_ = this;
  packet->magic_ = rt::packet::magic;
  return packet;
}

rt::packet* packet_pool_impl_t::get_for(size_t size) {
  rt::packet* packet = size <= attr.packet_size ? get() : nullptr;
  return packet != nullptr ? packet : rt::packet::make_loose(size);
}

void packet_pool_impl_t::put(rt::packet* packet) {
  const std::lock_guard<ds::spinlock> guard(lock_);
  free_.push_back(packet);
}

size_t packet_pool_impl_t::in_use() const {
  const std::lock_guard<ds::spinlock> guard(lock_);
  return used_ - free_.size();
}

net::local_region packet_pool_impl_t::region(net_context_impl_t& context) {
  const std::lock_guard<std::mutex> guard(regions_mutex_);
  for (const registration& known : regions_) {
    if (known.context == &context) return known.region;
  }
  auto made = context.net->register_memory(base_, bytes_);
  if (!made.ok()) {
    throw std::runtime_error(
        absl::StrCat("lci: can't register the ", bytes_, " bytes of packet pool \"", attr.name,
                     "\" (fewer with LCI_ATTR_NPACKETS): ", made.status().ToString()));
  }
  regions_.push_back({&context, *made});
  return *made;
}

void packet_pool_impl_t::forget(net_context_impl_t& context) {
  const std::lock_guard<std::mutex> guard(regions_mutex_);
  for (auto known = regions_.begin(); known != regions_.end(); ++known) {
    if (known->context != &context) continue;
    context.net->deregister_memory(known->region);
    regions_.erase(known);
    return;
  }
}

}  // namespace lci
