#include "lci/net/shm/heap.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "lci/base/check.h"
#include "lci/base/log.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::net::shm {
namespace {

// In eight steps from each power of two to the next: few sizes, so that what was freed fits again,
// and an eighth of the addresses wasted at most (no memory: pages that are not touched take none).
uint64_t pages_for(size_t size) {
  uint64_t pages = std::max<uint64_t>((size + page_size - 1) / page_size, 1);
  uint64_t step = 1;
  while (pages >= 16 * step) step *= 2;
  return (pages + step - 1) / step * step;
}

}  // namespace

base::StatusOr<segment_heap::block> segment_heap::allocate(size_t size) {
  if (size > max_backing_pages * page_size / 2) {
    return base::ResourceExhaustedError(base::StrCat(size, " bytes of shared memory"));
  }
  const uint64_t pages = pages_for(size);
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto as_block = [](const entry& e) {
    return block{e.memory->data() + page_size,
                 make_backing(e.memory->name().descriptor, e.memory->size() / page_size - 1)};
  };
  for (entry& e : segments_) {
    if (e.used || e.memory->size() != (pages + 1) * page_size) continue;
    e.used = true;
    return as_block(e);
  }
  base::StatusOr<segment> made = segment::create("lci-heap", (pages + 1) * page_size, token_);
  if (!made.ok()) {
    return base::Status(made.status().code(),
                        base::StrCat(made.status().message(), ", with ", segments_.size(),
                                     " allocations; each takes a file descriptor (ulimit -n)"));
  }
  if (made->name().descriptor >= max_backing_descriptor) {
    return base::ResourceExhaustedError(base::StrCat("file descriptor ", made->name().descriptor));
  }
  // Where the system offers large pages for shared memory on request.
  madvise(made->data(), made->size(), MADV_HUGEPAGE);
  segments_.push_back({std::make_shared<segment>(*std::move(made)), true});
  return as_block(segments_.back());
}

void segment_heap::free(const block& freed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const entry& e) {
    return e.used && e.memory->data() + page_size == freed.data;
  });
  LCI_CHECK(found != segments_.end(), "memory that was not allocated here");
  if (!found->memory->discard(page_size)) {
    // It would not be zero the next time. Never seen; costs addresses, not memory of the next.
    LCI_LOG(warn, "shm: ", found->memory->size(), " bytes of shared memory can't be given back");
    return;
  }
  found->used = false;
}

std::shared_ptr<segment> segment_heap::share(int32_t descriptor) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const entry& e : segments_) {
    if (e.memory->name().descriptor == descriptor) return e.memory;
  }
  return nullptr;
}

base::StatusOr<std::shared_ptr<segment>> heap_views::map(uint64_t backing) const {
  const auto descriptor = static_cast<int32_t>(descriptor_of(backing));
  if (of_thread_ != nullptr) {
    std::shared_ptr<segment> shared = of_thread_->share(descriptor);
    if (shared == nullptr) return base::NotFoundError("the rank has freed it");
    return shared;
  }
  base::StatusOr<segment> mapped =
      segment::open(pid_, {descriptor, 0, token_}, (pages_of(backing) + 1) * page_size,
                    /*writable=*/true);
  if (!mapped.ok()) return mapped.status();
  return std::make_shared<segment>(*std::move(mapped));
}

const heap_views::view* heap_views::open(uint64_t backing) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto descriptor = static_cast<size_t>(descriptor_of(backing));
  const view* known = views_.get(descriptor);
  if (known != nullptr && known->backing == backing) return known;
  auto made = std::make_unique<view>();
  made->backing = backing;
  base::StatusOr<std::shared_ptr<segment>> mapped = map(backing);
  if (mapped.ok()) {
    made->memory = *std::move(mapped);
    made->data = made->memory->data() + page_size;
  } else {
    LCI_LOG(info, "shm: memory of a peer can't be mapped, and is copied by other means: ",
            mapped.status().ToString());
  }
  all_.push_back(std::move(made));
  views_.set(descriptor, all_.back().get());
  return all_.back().get();
}

}  // namespace lci::net::shm
