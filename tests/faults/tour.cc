// A rank that uses messages of all protocols, puts, gets and collectives, and says "complete".
// system_calls.py lets its system calls fail.
//
// With the argument "one-way", the kernel copies the memory of another rank for even ranks only, as
// where odd ones lack the permission.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

struct neighbors {
  int left;
  int right;
};

// Posts the operation until it is no longer refused, and waits for its end.
template <class Post>
void run(const Post& post, lci::comp_t ended) {
  lci::status_t status = post();
  for (; status.is_retry(); status = post()) lci::progress();
  if (status.is_posted()) lci::sync_wait(ended, &status);
  if (!status.is_done()) throw std::runtime_error("an operation has failed");
}

// The memory of operations, by what it is for. Never freed: other ranks may still copy from it when an
// exception ends this one.
struct buffers {
  std::vector<char> sent, received, open, got;
};
buffers& kept() {
  static buffers& all = *new buffers;
  return all;
}

void expect_all(const std::vector<char>& bytes, char value) {
  for (const char each : bytes) EXPECT(each == value);
}

void exchange_messages(const neighbors& ranks, char own, char of_left) {
  lci::comp_t sent = lci::alloc_sync();
  lci::comp_t received = lci::alloc_sync();
  for (const size_t size : {8, 4000, 100000, 3000000}) {
    std::vector<char>& out = kept().sent;
    std::vector<char>& in = kept().received;
    out.assign(size, own);
    in.assign(size, '\0');
    lci::status_t arrived = lci::post_recv(ranks.left, in.data(), size, 1, received);
    run([&] { return lci::post_send(ranks.right, out.data(), size, 1, sent); }, sent);
    if (arrived.is_posted()) lci::sync_wait(received, &arrived);
    if (!arrived.is_done()) throw std::runtime_error("a receive has failed");
    expect_all(in, of_left);
  }
  lci::free_comp(&sent);
  lci::free_comp(&received);
}

void put_and_get(const neighbors& ranks, char own, char of_right) {
  constexpr size_t size = 100000;
  std::vector<char>& memory = kept().open;
  std::vector<char>& buffer = kept().got;
  memory.assign(size, own);
  buffer.assign(size, '\0');
  lci::mr_t mr = lci::register_memory(memory.data(), size);
  const lci::rmr_t own_rmr = lci::get_rmr(mr);
  std::vector<lci::rmr_t> all(static_cast<size_t>(lci::get_rank_n()));
  lci::allgather(&own_rmr, all.data(), sizeof(own_rmr));
  const lci::rmr_t there = all[static_cast<size_t>(ranks.right)];
  lci::comp_t ended = lci::alloc_sync();
  run([&] { return lci::post_get(ranks.right, buffer.data(), size, ended, 0, there); }, ended);
  expect_all(buffer, of_right);
  lci::barrier();
  run([&] { return lci::post_put(ranks.right, buffer.data(), size, ended, 0, there); }, ended);
  lci::barrier();
  expect_all(memory, own);  // what the left neighbor has got here, and put back
  lci::free_comp(&ended);
  lci::deregister_memory(&mr);
}

// Several times, since the library tries other ways for large ones.
constexpr int rounds = 10;

void tour() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int n = lci::get_rank_n();
  const neighbors ranks{(me + n - 1) % n, (me + 1) % n};
  const auto letter = [](int rank) { return static_cast<char>('a' + rank); };
  for (int i = 0; i < rounds; ++i) {
    exchange_messages(ranks, letter(me), letter(ranks.left));
    put_and_get(ranks, letter(me), letter(ranks.right));
  }
  std::vector<uint64_t> in(10000, 1);
  std::vector<uint64_t> out(in.size());
  lci::allreduce(in.data(), out.data(), in.size(), sizeof(in[0]), lci::reduce_sum<uint64_t>);
  EXPECT(out.back() == static_cast<uint64_t>(n));
  std::printf("complete %d\n", me);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output can't be written");
  lci::g_runtime_fina();
}

}  // namespace

int main(int argc, char**) {
  // A mark in the trace: only calls behind it are the library's.
  if (access("/the tour begins", F_OK) == 0) return 1;
  const char* const rank = std::getenv("LCI_RANK");
  if (argc > 1 && rank != nullptr && std::atoi(rank) % 2 == 1) setenv("LCI_SHM_CMA", "off", 1);
  return run_test(tour);
}
