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

base::Status segment_heap::make_reserve(size_t bytes) {
  base::StatusOr<segment> made = segment::create("lci-heap", bytes, token_);
  if (!made.ok()) return made.status();
  reserve_ = std::make_shared<segment>(*std::move(made));
  // A dump of the process would touch all pages.
  madvise(reserve_->data(), reserve_->size(), MADV_DONTDUMP);
  return base::OkStatus();
}

base::StatusOr<segment_heap::entry> segment_heap::make_entry(uint64_t pages) {
  entry made;
  made.pages = pages;
  const auto count = static_cast<int32_t>(entries_.size());
  const bool has_room = reserve_ != nullptr && count < max_backing_number &&
                        pages <= reserve_->size() / page_size - reserved_pages_;
  if (has_room) {
    made.memory = reserve_;
    made.data = reserve_->data() + reserved_pages_ * page_size;
    made.backing = make_backing(count, pages);
    madvise(made.data, pages * page_size, MADV_DODUMP);
    reserved_pages_ += pages;
    return made;
  }
  base::StatusOr<segment> own = segment::create("lci-heap", (pages + 1) * page_size, token_);
  if (!own.ok()) {
    return base::Status(own.status().code(),
                        base::StrCat(own.status().message(), ", with ", entries_.size(),
                                     " allocations; each takes a file descriptor (ulimit -n)"));
  }
  if (own->name().descriptor >= max_backing_number) {
    return base::ResourceExhaustedError(base::StrCat("file descriptor ", own->name().descriptor));
  }
  made.memory = std::make_shared<segment>(*std::move(own));
  made.data = made.memory->data() + page_size;
  if (reserve_ == nullptr) {
    made.backing = make_backing(made.memory->name().descriptor, pages);
  } else {
    LCI_LOG(info, "shm: the reserve of ", reserve_->size(), " bytes has no room for ",
            pages * page_size, ", which peers reach by other means");
  }
  return made;
}

base::StatusOr<segment_heap::block> segment_heap::allocate(size_t size) {
  constexpr uint64_t max_size = max_backing_pages * page_size / 2;
  if (size > max_size) {
    return base::ResourceExhaustedError(
        base::StrCat(size, " bytes of shared memory, and an allocation has at most ", max_size));
  }
  const uint64_t pages = pages_for(size);
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto there = std::find_if(entries_.begin(), entries_.end(),
                                  [pages](const entry& e) { return !e.used && e.pages == pages; });
  if (there != entries_.end()) {
    there->used = true;
    return block{there->data, there->backing};
  }
  base::StatusOr<entry> made = make_entry(pages);
  if (!made.ok()) return made.status();
  // Where the system offers large pages for shared memory on request.
  madvise(made->data, pages * page_size, MADV_HUGEPAGE);
  made->used = true;
  entries_.push_back(*std::move(made));
  return block{entries_.back().data, entries_.back().backing};
}

void segment_heap::free(const block& freed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const entry& e) { return e.used && e.data == freed.data; });
  LCI_CHECK(found != entries_.end(), "memory that was not allocated here");
  const auto begin = static_cast<size_t>(found->data - found->memory->data());
  const size_t bytes = found->pages * page_size;
  if (!found->memory->discard(begin, bytes)) {
    // It would not be zero the next time. Never seen; costs addresses, not memory of the next.
    LCI_LOG(warn, "shm: ", bytes, " bytes of shared memory can't be given back");
    return;
  }
  found->used = false;
}

std::shared_ptr<segment> segment_heap::share(int32_t number) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const entry& e : entries_) {
    if (number_of(e.backing) == number) return e.memory;
  }
  return nullptr;
}

void heap_views::attach(std::shared_ptr<segment> reserve, uint64_t address) {
  reserve_ = std::move(reserve);
  reserve_address_ = address;
}

base::StatusOr<std::shared_ptr<segment>> heap_views::map(uint64_t backing) const {
  const int32_t number = number_of(backing);
  if (of_thread_ != nullptr) {
    std::shared_ptr<segment> shared = of_thread_->share(number);
    if (shared == nullptr) return base::NotFoundError("the rank has freed it");
    return shared;
  }
  base::StatusOr<segment> mapped = segment::open(
      pid_, {number, 0, token_}, (pages_of(backing) + 1) * page_size, /*writable=*/true);
  if (!mapped.ok()) return mapped.status();
  return std::make_shared<segment>(*std::move(mapped));
}

base::StatusOr<heap_views::view> heap_views::find_reserved(uint64_t backing,
                                                           uint64_t address) const {
  const uint64_t begin = address - reserve_address_;
  const uint64_t bytes = pages_of(backing) * page_size;
  if (begin > reserve_->size() || bytes > reserve_->size() - begin) {
    return base::NotFoundError("it is not in the reserve of that rank");
  }
  return view{backing, reserve_->data() + begin, reserve_};
}

base::StatusOr<heap_views::view> heap_views::make_view(uint64_t backing, uint64_t address) const {
  if (reserve_ != nullptr) return find_reserved(backing, address);
  const base::StatusOr<std::shared_ptr<segment>> mapped = map(backing);
  if (!mapped.ok()) return mapped.status();
  return view{backing, (*mapped)->data() + page_size, *mapped};
}

const heap_views::view* heap_views::open(uint64_t backing, uint64_t address) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto number = static_cast<size_t>(number_of(backing));
  const view* known = views_.get(number);
  if (known != nullptr && known->backing == backing) return known;
  base::StatusOr<view> made = make_view(backing, address);
  if (!made.ok()) {
    LCI_LOG(info, "shm: memory of a peer can't be mapped, and is copied by other means: ",
            made.status().ToString());
    made = view{backing, nullptr, nullptr};
  }
  all_.push_back(std::make_unique<view>(*std::move(made)));
  views_.set(number, all_.back().get());
  return all_.back().get();
}

}  // namespace lci::net::shm
