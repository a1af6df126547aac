#include "lci/runtime/resources/loose_packets.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "lci/base/sanitizer.h"
#include "lci/base/thread_number.h"
#include "lci/runtime/resources/packet.h"

#ifdef LCI_BASE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace lci::rt {
namespace {

// In bytes.
constexpr size_t smallest = 512;
constexpr size_t largest = size_t{1} << 47;

size_t round_up_to_power_of_two(size_t size) {
  return size_t{1} << (64 - __builtin_clzll(size - 1));
}

// The address sanitizer reports accesses to hidden bytes.
#ifdef LCI_BASE_ADDRESS_SANITIZER
void hide(packet& one, size_t size) { ASAN_POISON_MEMORY_REGION(one.payload(), size); }
void show(packet& one, size_t size) { ASAN_UNPOISON_MEMORY_REGION(one.payload(), size); }
#else
void hide(packet&, size_t) {}
void show(packet&, size_t) {}
#endif

size_t class_of(size_t capacity) { return static_cast<size_t>(__builtin_ctzll(capacity)); }

}  // namespace

// What lies before a loose packet.
struct alignas(64) loose_packets::holder {
  loose_packets* keeper = nullptr;  // null: it has been destroyed
  size_t capacity = 0;              // bytes of the packet
  size_t place = 0;                 // in all_
  holder* next_idle = nullptr;
  std::atomic<net::context*> network{nullptr};  // null: not registered
  net::local_region region;
};

loose_packets::holder& loose_packets::holder_of(packet& one) {
  return *(reinterpret_cast<holder*>(&one) - 1);
}

packet* loose_packets::packet_of(holder& one) { return reinterpret_cast<packet*>(&one + 1); }

loose_packets::~loose_packets() {
  while (packet* const returned = returned_.take_oldest()) put(returned);
  for (part& each : parts_) {
    for (holder* first : each.idle) {
      while (first != nullptr) {
        holder* const next = first->next_idle;
        destroy(first);
        first = next;
      }
    }
  }
  for (holder* in_use : all_) {
    net::context* const network = in_use->network.load(std::memory_order_relaxed);
    if (network != nullptr) network->deregister_memory(in_use->region);
    in_use->keeper = nullptr;
  }
}

bool loose_packets::is_kept(const holder& one) const { return one.capacity <= most_kept_; }

loose_packets::part& loose_packets::own_part() {
  return parts_[base::thread_number() % parts_.size()];
}

packet* loose_packets::get(size_t size) {
  if (size > largest) throw std::bad_alloc();
  const size_t capacity =
      size <= most_kept_ ? round_up_to_power_of_two(std::max(size, smallest)) : size;
  holder* taken = capacity <= most_kept_ ? take_idle(class_of(capacity)) : nullptr;
  if (taken == nullptr) taken = make(capacity);
  packet* const result = packet_of(*taken);
  show(*result, size);
  return result;
}

loose_packets::holder* loose_packets::make(size_t capacity) {
  const size_t bytes = (sizeof(holder) + sizeof(packet) + capacity + alignof(holder) - 1) /
                       alignof(holder) * alignof(holder);
  void* const memory = std::aligned_alloc(alignof(holder), bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* const made = new (memory) holder;
  made->keeper = this;
  made->capacity = capacity;
  packet* const one = packet_of(*made);
  one->pool_ = nullptr;
  one->magic_ = is_watched_ ? packet::watched : packet::magic;
  try {
    const std::lock_guard<std::mutex> guard(mutex_);
    made->place = all_.size();
    all_.push_back(made);
  } catch (...) {
    free_memory(made);
    throw;
  }
  hide(*one, capacity);
  return made;
}

loose_packets::holder* loose_packets::take_idle(size_t size_class) {
  if (kept_.load(std::memory_order_relaxed) == 0) return nullptr;
  part* const own = &own_part();
  part* at = own;
  do {
    const std::lock_guard<std::mutex> guard(at->mutex);
    holder*& first = at->idle[size_class];
    if (holder* const taken = first) {
      first = taken->next_idle;
      kept_.fetch_sub(taken->capacity, std::memory_order_relaxed);
      return taken;
    }
    at = at == &parts_.back() ? parts_.data() : at + 1;
  } while (at != own);
  return nullptr;
}

void loose_packets::put(packet* returned) noexcept {
  holder* const one = &holder_of(*returned);
  loose_packets* const keeper = one->keeper;
  if (keeper == nullptr) return free_memory(one);
  if (!keeper->is_kept(*one)) return keeper->destroy(one);
  hide(*returned, one->capacity);
  part& own = keeper->own_part();
  const size_t size_class = class_of(one->capacity);
  {
    const std::lock_guard<std::mutex> guard(own.mutex);
    one->next_idle = own.idle[size_class];
    own.idle[size_class] = one;
    keeper->kept_.fetch_add(one->capacity, std::memory_order_relaxed);
  }
  while (holder* const gone = keeper->take_superfluous(own, size_class)) keeper->destroy(gone);
}

void loose_packets::put_checked(packet* returned) {
  const holder& one = holder_of(*returned);
  if (one.keeper == nullptr) return put(returned);
  one.keeper->returned_.add(returned, one.capacity);
}

loose_packets::holder* loose_packets::take_superfluous(part& from, size_t size_class) {
  if (kept_.load(std::memory_order_relaxed) <= most_kept_) return nullptr;
  const std::lock_guard<std::mutex> guard(from.mutex);
  // Of another size if there are any, which the program may use no longer.
  size_t chosen = size_class;
  for (size_t other = 0; other < classes; ++other) {
    if (other != size_class && from.idle[other] != nullptr) chosen = other;
  }
  holder*& first = from.idle[chosen];
  holder* const taken = first;
  if (taken == nullptr) return nullptr;
  first = taken->next_idle;
  kept_.fetch_sub(taken->capacity, std::memory_order_relaxed);
  return taken;
}

void loose_packets::discard(packet* returned) noexcept {
  holder* const one = &holder_of(*returned);
  if (one->keeper == nullptr) return free_memory(one);
  one->keeper->destroy(one);
}

void loose_packets::destroy(holder* gone) noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    net::context* const network = gone->network.load(std::memory_order_relaxed);
    if (network != nullptr) network->deregister_memory(gone->region);
    all_[gone->place] = all_.back();
    all_[gone->place]->place = gone->place;
    all_.pop_back();
  }
  free_memory(gone);
}

void loose_packets::free_memory(holder* gone) noexcept {
  packet* const one = packet_of(*gone);
  one->magic_ = 0;
  show(*one, gone->capacity);
  gone->~holder();
  std::free(gone);
}

base::StatusOr<net::local_region> loose_packets::region_of(packet& one, net::context& network) {
  holder& of = holder_of(one);
  if (of.network.load(std::memory_order_acquire) == &network) return of.region;
  const std::lock_guard<std::mutex> guard(of.keeper->mutex_);
  if (net::context* const former = of.network.load(std::memory_order_relaxed)) {
    former->deregister_memory(of.region);
    of.network.store(nullptr, std::memory_order_relaxed);
  }
  auto made = network.register_memory(one.payload(), of.capacity);
  if (!made.ok()) return made.status();
  of.region = *made;
  of.network.store(&network, std::memory_order_release);
  return of.region;
}

void loose_packets::forget(net::context& network) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (holder* each : all_) {
    if (each->network.load(std::memory_order_relaxed) != &network) continue;
    network.deregister_memory(each->region);
    each->network.store(nullptr, std::memory_order_relaxed);
  }
}

}  // namespace lci::rt
