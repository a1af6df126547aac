#include "examples/kmer/phases.h"

#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kmer {
namespace {

// A message's tag: its phase, and whether it is a notice.
uint64_t tag_of(size_t phase, bool is_notice) { return 2 * phase + (is_notice ? 1 : 0); }

message_buffer allocate(size_t bytes) {
  message_buffer buffer(static_cast<char*>(std::malloc(bytes)));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

}  // namespace

struct phases::notice {
  uint64_t messages = 0;  // that the sender has sent to the receiver in this phase
  uint32_t failed = 0;
  char reason[500] = {};
};

phases::phases(exchange* network, int threads, std::vector<handler> handlers)
    : network_(network),
      threads_(threads),
      handlers_(std::move(handlers)),
      tallies_(handlers_.size()) {
  for (tally& one : tallies_) {
    one.sent = std::vector<std::atomic<uint64_t>>(static_cast<size_t>(ranks()));
    one.producing = threads;
  }
}

bool phases::run(const std::function<void(int)>& work, const std::function<void()>& prepare) {
  over_ = false;
  std::vector<std::thread> others;
  try {
    for (int thread = 1; thread < threads_; ++thread) {
      others.emplace_back([this, thread, &work] { run_thread(thread, work); });
    }
  } catch (const std::exception& error) {
    fail(absl::StrCat("can't start a thread: ", error.what()));
    // Those that could not be started have nothing to send.
    tallies_[phase_].producing -= threads_ - 1 - static_cast<int>(others.size());
  }
  run_thread(0, work);
  try {
    if (!stopped()) prepare();
  } catch (const std::exception& error) {
    fail(error.what());
  }
  ready_.store(phase_ + 1, std::memory_order_release);
  uint64_t failed = stopped() ? 1 : 0;
  try {
    if (!broken_) network_->sum(&failed, 1);
  } catch (const network_error& error) {
    break_off(error.what());
  }
  over_ = true;
  for (std::thread& thread : others) thread.join();
  if (broken_) throw network_error(reason());
  if (failed != 0) stop("another rank failed", false);
  ++phase_;
  return failed == 0;
}

void phases::run_thread(int thread, const std::function<void(int)>& work) {
  try {
    try {
      work(thread);
    } catch (const network_error&) {
      throw;
    } catch (const std::exception& error) {
      fail(error.what());
    }
    if (tallies_[phase_].producing.fetch_sub(1) == 1) send_notices(thread);
    // The others stay until thread 0 has met the other ranks: their devices may be needed to
    // deliver what has been accepted for sending.
    while (!broken_ && (thread == 0 ? !complete() : !over_)) serve(thread);
  } catch (const network_error& error) {
    break_off(error.what());
  }
}

bool phases::complete() const {
  const tally& now = tallies_[phase_];
  return now.notices == ranks() && now.handled == now.announced && network_->unfinished() == 0;
}

void phases::send(int thread, int to, message_buffer* buffer, size_t size) {
  tallies_[phase_].sent[static_cast<size_t>(to)].fetch_add(1, std::memory_order_relaxed);
  transmit(thread, to, tag_of(phase_, false), buffer, size);
}

void phases::transmit(int thread, int to, uint64_t tag, message_buffer* buffer, size_t size) {
  while (!network_->try_send(thread, to, tag, buffer, size)) {
    if (broken_) throw network_error(reason());
    serve(thread);
  }
}

void phases::send_notices(int thread) {
  notice content;
  if (stopped()) {
    const std::lock_guard<std::mutex> lock(reason_mutex_);
    content.failed = 1;
    std::strncpy(content.reason, own_reason_ ? reason_.c_str() : "", sizeof(content.reason) - 1);
  }
  // Everybody gets one, this rank too, beginning behind it so that not all go to rank 0 first.
  for (int i = 1; i <= ranks(); ++i) {
    const int to = (rank() + i) % ranks();
    content.messages = tallies_[phase_].sent[static_cast<size_t>(to)];
    message_buffer buffer = allocate(sizeof(content));
    std::memcpy(buffer.get(), &content, sizeof(content));
    transmit(thread, to, tag_of(phase_, true), &buffer, sizeof(content));
  }
}

bool phases::serve(int thread) {
  bool any = false;
  message incoming;
  while (network_->receive(&incoming)) {
    any = true;
    handle(incoming);
  }
  return network_->progress(thread) || any;
}

void phases::handle(const message& incoming) {
  const uint64_t phase = incoming.tag / 2;
  if (phase >= tallies_.size()) {
    throw network_error(
        absl::StrCat("a message with unknown tag ", incoming.tag, " from rank ", incoming.rank));
  }
  // Always so, since all ranks have met in between. The load makes the writes of prepare() visible
  // to this thread, independent of the path of the message.
  if (phase > ready_.load(std::memory_order_acquire)) {
    throw network_error(
        absl::StrCat("a message of phase ", phase, " came too early from rank ", incoming.rank));
  }
  tally& now = tallies_[phase];
  if (incoming.tag == tag_of(phase, true)) {
    notice content;
    if (incoming.size != sizeof(content)) {
      throw network_error(
          absl::StrCat("a notice of ", incoming.size, " bytes from rank ", incoming.rank));
    }
    std::memcpy(&content, incoming.bytes.get(), sizeof(content));
    content.reason[sizeof(content.reason) - 1] = 0;
    if (content.failed != 0 && content.reason[0] != 0 && incoming.rank != rank()) {
      stop(absl::StrCat("rank ", incoming.rank, " failed: ", content.reason), false);
    }
    now.announced += content.messages;
    ++now.notices;  // after announced: who sees all notices also sees the whole sum
    return;
  }
  // Counted whether the handler throws or not: the phase must end.
  try {
    if (!stopped()) handlers_[phase](incoming);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  ++now.handled;
}

void phases::fail(const std::string& reason) { stop(reason, true); }

void phases::break_off(const std::string& reason) {
  stop(reason, true);
  broken_ = true;
}

void phases::stop(const std::string& reason, bool own) {
  const std::lock_guard<std::mutex> lock(reason_mutex_);
  if (reason_.empty()) {
    reason_ = reason;
    own_reason_ = own;
  }
  stopped_ = true;
}

std::string phases::reason() const {
  const std::lock_guard<std::mutex> lock(reason_mutex_);
  return reason_;
}

}  // namespace kmer
