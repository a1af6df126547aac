// checked_operations MISTAKE: two ranks that make a mistake with their operations that LCI_CHECK=1
// names.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lci.hpp"

namespace {

constexpr size_t large = 256 << 10;  // a rendezvous everywhere

void require(bool is_so, const char* what) {
  if (!is_so) throw std::runtime_error(what);
}

// A large message from rank 0 to rank 1, which receives it only after `meanwhile` of rank 0.
template <class Meanwhile>
void send_large(char* bytes, const Meanwhile& meanwhile) {
  lci::comp_t sync = lci::alloc_sync_x().name("large")();
  if (lci::get_rank_me() == 0) {
    const lci::status_t status = lci::post_send_x(1, bytes, large, 7, sync).allow_retry(false)();
    require(status.is_posted(), "the message is gone at once");
    meanwhile(&sync);
    lci::barrier();
    lci::status_t sent;  // `fatal`, as that of the receive, where the memory is gone
    lci::sync_wait(sync, &sent);
  } else {
    std::vector<char> room(large);
    lci::barrier();
    lci::status_t status = lci::post_recv(0, room.data(), large, 7, sync);
    if (status.is_posted()) lci::sync_wait(sync, &status);
  }
  lci::free_comp(&sync);
}

void change() {
  std::vector<char> bytes(large);
  send_large(bytes.data(), [&](lci::comp_t*) { bytes[5000] = 1; });
}

// The memory is gone before the network reads it.
void unmap() {
  void* const bytes =
      mmap(nullptr, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(bytes != MAP_FAILED, "mmap");
  send_large(static_cast<char*>(bytes), [&](lci::comp_t*) { munmap(bytes, large); });
  // Rank 1 will not get the message.
  if (lci::get_rank_me() == 0) std::_Exit(3);
}

void overlap() {
  char bytes[16] = {};
  const int other = 1 - lci::get_rank_me();
  lci::comp_t sync = lci::alloc_sync_x().threshold(2)();
  static_cast<void>(lci::post_recv_x(other, bytes, 8, 1, sync).allow_done(false)());
  static_cast<void>(lci::post_recv_x(other, bytes + 4, 8, 2, sync).allow_done(false)());
  lci::barrier();
  const char text[8] = {};
  for (const lci::tag_t tag : {1, 2}) {
    static_cast<void>(lci::post_send_x(other, text, 8, tag, lci::COMP_NULL).allow_retry(false)());
  }
  lci::sync_wait(sync, nullptr);
  lci::free_comp(&sync);
}

void require_refusal(lci::comp_t comp) {
  try {
    lci::free_comp(&comp);
  } catch (const std::logic_error& error) {
    std::printf("%s\n", error.what());
    return;
  }
  throw std::runtime_error("free_comp has freed what is in use");
}

void free_early() {
  std::vector<char> bytes(large);
  send_large(bytes.data(), [](const lci::comp_t* sync) { require_refusal(*sync); });
  lci::comp_t sync = lci::alloc_sync_x().name("collective")();
  if (lci::get_rank_me() == 0) {
    lci::barrier_x().comp(sync)();
    require_refusal(sync);
    lci::barrier_x().matching_engine(lci::get_default_matching_engine())();
  } else {
    lci::barrier_x().matching_engine(lci::get_default_matching_engine())();
    lci::barrier_x().comp(sync)();
  }
  lci::sync_wait(sync, nullptr);
  lci::free_comp(&sync);
}

// Messages to itself, which it does not take meanwhile.
void drop_retry() {
  constexpr int most = 10 << 20;
  static int arrived = 0;
  const lci::comp_t handler =
      lci::alloc_handler_x([](lci::status_t) { ++arrived; }).lend_am(true)();
  const lci::rcomp_t rcomp = lci::register_rcomp(handler);
  const int me = lci::get_rank_me();
  char bytes[8] = {};
  int dropped = 0;
  int sent = 0;
  while (sent < most && dropped == 0) {
    const bool retry =
        lci::post_am(me, bytes, sizeof(bytes), lci::COMP_NULL_RETRY, rcomp).is_retry();
    ++(retry ? dropped : sent);
  }
  require(dropped == 1, "no post has answered retry");
  while (lci::progress().is_done()) {
  }
  // Repeated: no mistake.
  char others[8] = {};
  while (
      lci::post_am_x(me, others, sizeof(others), lci::COMP_NULL_RETRY, rcomp).tag(1)().is_retry())
    lci::progress();
  lci::comp_t freed = handler;
  while (arrived < sent + 1) lci::progress();
  lci::free_comp(&freed);
}

// Rank 0 waits, without progress, for what its standard error stream says.
void forget_progress() {
  int ends[2];
  require(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0, "pipe");
  close(ends[1]);
  std::vector<char> bytes(large);
  send_large(bytes.data(), [&](lci::comp_t*) {
    std::string said;
    char some[512];
    while (said.find("since: ") == std::string::npos) {
      const ssize_t got = read(ends[0], some, sizeof(some));
      require(got > 0, "nothing is said");
      said.append(some, static_cast<size_t>(got));
    }
    std::printf("%s", said.c_str());
  });
}

// As above; the operation is on a device of the thread, which it frees.
void free_device_without_progress() {
  lci::device_t device = lci::alloc_device();
  char bytes[large] = {};
  lci::comp_t sync = lci::alloc_sync();
  const int other = 1 - lci::get_rank_me();
  static std::vector<char> room(large);
  const lci::status_t sent = lci::post_send_x(other, bytes, large, 1, sync).device(device)();
  require(sent.is_posted(), "the message is gone at once");
  try {
    lci::free_device(&device);
    throw std::runtime_error("free_device has freed what is in use");
  } catch (const std::logic_error&) {
  }
  lci::comp_t received = lci::alloc_sync();
  const lci::status_t status =
      lci::post_recv_x(other, room.data(), large, 1, received).device(device)();
  if (status.is_posted()) lci::sync_wait_x(received, nullptr).device(device)();
  lci::sync_wait_x(sync, nullptr).device(device)();
  lci::wait_drained_x().device(device)();
  lci::barrier();
  lci::free_device(&device);
  lci::free_comp(&received);
  lci::free_comp(&sync);
}

void free_registered() {
  lci::comp_t queue = lci::alloc_cq_x().name("registered")();
  const lci::rcomp_t rcomp = lci::register_rcomp(queue);
  lci::free_comp(&queue);
  // It is deregistered, so the number is free.
  lci::comp_t other = lci::alloc_cq();
  require(lci::register_rcomp_x(other).rcomp(rcomp)() == rcomp, "another number");
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&other);
}

template <class Call>
void require_error(const Call& call) {
  try {
    call();
  } catch (const std::logic_error& error) {
    std::printf("%s\n", error.what());
    return;
  }
  throw std::runtime_error("nothing was thrown");
}

void return_packet_twice() {
  void* const packet = lci::get_upacket();
  lci::put_upacket(packet);
  require_error([&] { lci::put_upacket(packet); });
  // More than the pool would have, if those that were returned did not go back to it.
  for (int i = 0; i < 100000; ++i) {
    void* const other = lci::get_upacket();
    require(other != nullptr, "packets are missing");
    lci::put_upacket(other);
  }
}

std::atomic<bool> is_inside{false};
std::atomic<bool> may_leave{false};

// A thread is inside progress(), since a handler does not return.
void finalize_while_a_thread_makes_progress() {
  lci::comp_t handler = lci::alloc_handler([](lci::status_t) {
    is_inside.store(true);
    while (!may_leave.load()) std::this_thread::yield();
  });
  const lci::rcomp_t rcomp = lci::register_rcomp(handler);
  std::thread other([rcomp] {
    char byte = 0;
    static_cast<void>(
        lci::post_am_x(lci::get_rank_me(), &byte, 1, lci::COMP_NULL, rcomp).allow_retry(false)());
    while (!is_inside.load()) lci::progress();
  });
  while (!is_inside.load()) std::this_thread::yield();
  require_error([] { lci::g_runtime_fina(); });
  may_leave.store(true);
  other.join();
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&handler);
}

void reduce_by_different_operators() {
  const int in = lci::get_rank_me();
  int out = -1;
  lci::barrier();  // which all ranks call equally
  lci::allreduce(&in, &out, 1, sizeof(in),
                 lci::get_rank_me() == 0 ? lci::reduce_sum<int> : lci::reduce_max<int>);
}

void start_with_different_operators() {
  const int in = lci::get_rank_me();
  int out = -1;
  lci::comp_t sync = lci::alloc_sync();
  lci::persistent_coll_t recorded = lci::alloc_persistent_coll(
      lci::allreduce_x(&in, &out, 1, sizeof(in),
                       lci::get_rank_me() == 0 ? lci::reduce_sum<int> : lci::reduce_max<int>)
          .comp(sync));
  lci::barrier();  // which all ranks call equally
  lci::persistent_coll_start(recorded);
  lci::sync_wait(sync, nullptr);
  lci::free_persistent_coll(&recorded);
  lci::free_comp(&sync);
}

void broadcast_from_different_roots() {
  int value = 1;
  lci::broadcast(&value, sizeof(value), lci::get_rank_me());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mistake = argc > 1 ? argv[1] : "";
  try {
    lci::g_runtime_init();
    if (mistake == "change") change();
    if (mistake == "unmap") unmap();
    if (mistake == "overlap") overlap();
    if (mistake == "free") free_early();
    if (mistake == "retry") drop_retry();
    if (mistake == "progress") forget_progress();
    if (mistake == "device") free_device_without_progress();
    if (mistake == "operator") reduce_by_different_operators();
    if (mistake == "start") start_with_different_operators();
    if (mistake == "registered") free_registered();
    if (mistake == "packet") return_packet_twice();
    if (mistake == "finalize") finalize_while_a_thread_makes_progress();
    if (mistake == "root") broadcast_from_different_roots();
    lci::g_runtime_fina();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "checked_operations: %s\n", error.what());
    return 1;
  }
  return 0;
}
