// Blocking collective operations out of tagged messages.
//
// The k-th collective of a runtime uses the tags k * max_rounds + round, so that the messages of
// neighbouring collectives, and of the rounds of one, never meet. Tags wrap around after 2^20
// collectives, long after the messages of the first are gone.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "lci/api/coll.hpp"
#include "lci/base/log.h"
#include "lci/runtime/post.h"
#include "lci/runtime/resolve.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wait.h"

namespace lci {
namespace {

constexpr uint32_t max_rounds = 1u << 12;

// One collective call of this rank: its messages, the memory they are received into, and the
// waiting for them.
class conversation {
 public:
  // `room`: bytes of the memory for receiving.
  conversation(const rt::target& target, const char* what, size_t room)
      : runtime_(*target.runtime),
        device_(*target.device),
        what_(what),
        first_tag_(target.runtime->next_collective() * max_rounds),
        state_(new state(room)) {}
  // When a failed peer has thrown us out, the other peers may still answer what we posted: then the
  // state that these operations refer to is left to them.
  ~conversation() {
    if (state_->count.load(std::memory_order_acquire) != 0) {
      LCI_LOG(warn, what_, " was broken off; ", state_->count.load(), " messages may still come");
      static_cast<void>(state_.release());
    }
  }
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

  int rank() const { return runtime_.rank(); }
  int size() const { return runtime_.size(); }
  char* room() { return state_->room.get(); }

  void send(int rank, const void* bytes, size_t size, uint32_t round) {
    rt::message outgoing = make(rank, const_cast<void*>(bytes), size, round);
    state_->count.fetch_add(1, std::memory_order_relaxed);
    try {
      if (rt::post_message(device_, outgoing, true).is_done()) state_->count.fetch_sub(1);
    } catch (...) {
      state_->count.fetch_sub(1);
      throw;
    }
  }

  // `bytes` lies in room().
  void recv(int rank, void* bytes, size_t size, uint32_t round) {
    state_->count.fetch_add(1, std::memory_order_relaxed);
    runtime_.coll_matching().post_recv(make(rank, bytes, size, round));
  }

  // Until everything posted so far is complete.
  void wait() {
    rt::wait_until(&device_, what_,
                   [this] { return state_->count.load(std::memory_order_acquire) == 0; });
    if (state_->failed.load(std::memory_order_relaxed)) {
      throw std::runtime_error(absl::StrCat("lci: ", what_, " failed on rank ", rank(),
                                            ": do all ranks pass the same sizes?"));
    }
  }

 private:
  struct state final : comp_impl_t {
    explicit state(size_t bytes) : room(bytes > 0 ? new char[bytes] : nullptr) {}
    std::atomic<int> count{0};  // operations under way
    std::atomic<bool> failed{false};
    const std::unique_ptr<char[]> room;
    void signal(status_t status) override {
      if (status.error.errorcode == errorcode_t::fatal) {
        failed.store(true, std::memory_order_relaxed);
      }
      count.fetch_sub(1, std::memory_order_release);
    }
  };

  rt::message make(int rank, void* bytes, size_t size, uint32_t round) {
    rt::message message;
    message.rank = rank;
    message.buffer = bytes;
    message.size = size;
    message.tag = first_tag_ + round;
    message.comp = state_.get();
    return message;
  }

  runtime_impl_t& runtime_;
  device_impl_t& device_;
  const char* const what_;
  const uint32_t first_tag_;
  std::unique_ptr<state> state_;
};

void check_buffers(const void* sendbuf, const void* recvbuf, size_t bytes, const char* what) {
  if (bytes > 0 && (sendbuf == nullptr || recvbuf == nullptr)) {
    throw std::invalid_argument(absl::StrCat("lci: ", what, ": a buffer is null"));
  }
}

}  // namespace

// Dissemination: in round k each rank hears from the one 2^k below it (Hensgen, Finkel and Manber,
// "Two algorithms for barrier synchronization", 1988).
void barrier_x::operator()() const {
  conversation talk(rt::resolve(get_runtime(), get_device()), "barrier", 0);
  uint32_t round = 0;
  for (int distance = 1; distance < talk.size(); distance *= 2, ++round) {
    talk.recv((talk.rank() - distance + talk.size()) % talk.size(), nullptr, 0, round);
    talk.send((talk.rank() + distance) % talk.size(), nullptr, 0, round);
    talk.wait();
  }
}

// Blocks travel in rounds that double (Bruck et al., "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", 1997): after each, `work` holds the blocks
// of the next ranks, beginning with our own.
void allgather_x::operator()() const {
  const rt::target target = rt::resolve(get_runtime(), get_device());
  check_buffers(sendbuf_, recvbuf_, size_, "allgather");
  const int n = target.runtime->size();
  conversation talk(target, "allgather", static_cast<size_t>(n) * size_);
  if (size_ == 0) return;
  char* const work = talk.room();
  std::memcpy(work, sendbuf_, size_);
  uint32_t round = 0;
  for (int have = 1; have < n; have *= 2, ++round) {
    const size_t bytes = static_cast<size_t>(std::min(have, n - have)) * size_;
    talk.recv((talk.rank() + have) % n, work + static_cast<size_t>(have) * size_, bytes, round);
    talk.send((talk.rank() - have + n) % n, work, bytes, round);
    talk.wait();
  }
  char* const out = static_cast<char*>(recvbuf_);
  for (int i = 0; i < n; ++i) {
    const auto block = static_cast<size_t>((talk.rank() + i) % n);
    std::memcpy(out + block * size_, work + static_cast<size_t>(i) * size_, size_);
  }
}

// Up a binomial tree to rank 0 and down again. Neighbouring ranges of ranks are joined in their
// order, so the operator need not be commutative, and all ranks get the bytes that rank 0 computed.
void allreduce_x::operator()() const {
  const rt::target target = rt::resolve(get_runtime(), get_device());
  if (op_ == nullptr) throw std::invalid_argument("lci: allreduce: op is null");
  if (count_ != 0 && item_size_ > ~size_t{0} / count_) {
    throw std::invalid_argument(
        absl::StrCat("lci: allreduce: ", count_, " items of ", item_size_, " bytes"));
  }
  const size_t bytes = count_ * item_size_;
  check_buffers(sendbuf_, recvbuf_, bytes, "allreduce");
  conversation talk(target, "allreduce", bytes);
  if (bytes == 0) return;
  if (recvbuf_ != sendbuf_) std::memcpy(recvbuf_, sendbuf_, bytes);
  const int rank = talk.rank();
  const int n = talk.size();

  // Up: recvbuf covers the ranks from ours to rank + distance - 1.
  uint32_t round = 0;
  int distance = 1;
  for (; distance < n && (rank & distance) == 0; distance *= 2, ++round) {
    if (rank + distance >= n) continue;
    talk.recv(rank + distance, talk.room(), bytes, round);
    talk.wait();
    op_(recvbuf_, talk.room(), talk.room(), count_);  // only its right operand may be overwritten
    std::memcpy(recvbuf_, talk.room(), bytes);
  }
  // Down, from the rank that ours was sent to.
  constexpr uint32_t down = max_rounds / 2;
  if (rank != 0) {
    talk.send(rank - distance, recvbuf_, bytes, round);
    talk.recv(rank - distance, talk.room(), bytes, down + round);
    talk.wait();
    std::memcpy(recvbuf_, talk.room(), bytes);
  }
  while (distance > 1) {
    distance /= 2;
    --round;
    if (rank + distance < n) talk.send(rank + distance, recvbuf_, bytes, down + round);
  }
  talk.wait();
}

}  // namespace lci
