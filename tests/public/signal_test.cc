// Signals, blocks and plans between processes, through the public interface: the two sides of UNR's
// Code 2, a ring of several threads, and a transposition as a plan.
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

uint64_t word(int rank, int round, size_t i) {
  return static_cast<uint64_t>(rank) * 1000003 + static_cast<uint64_t>(round) * 101 + i;
}

// A receiver sends its block once; then puts alone say when there is something to read, and an
// answering put when it has been read.
void ping_pong(size_t words, bool allocated) {
  const int me = lci::get_rank_me();
  const int peer = me ^ 1;
  if (peer >= lci::get_rank_n()) return;
  std::vector<uint64_t> own(allocated ? 0 : 2 * words);
  lci::mr_t mr =
      allocated ? lci::alloc_mr(2 * words * 8) : lci::register_memory(own.data(), own.size() * 8);
  auto* const out = static_cast<uint64_t*>(lci::get_mr_address(mr));
  uint64_t* const in = out + words;
  lci::comp_t sent = lci::alloc_signal_x(1).name("sent")();
  lci::comp_t arrived = lci::alloc_signal_x(1).name("arrived")();
  const lci::block_t mine = lci::make_block_x(mr, 0, words * 8).send_signal(sent)();
  lci::block_t here = lci::make_block_x(mr, words * 8, words * 8).recv_signal(arrived)();
  lci::block_t there;
  lci::comp_t sync = lci::alloc_sync();
  const lci::status_t posted = lci::post_recv(peer, &there, sizeof(there), 1, sync);
  static_cast<void>(lci::post_send(peer, &here, sizeof(here), 1, lci::COMP_NULL));
  if (posted.is_posted()) lci::sync_wait(sync, nullptr);
  for (int round = 0; round < 50; ++round) {
    if ((me & 1) == 0) {
      for (size_t i = 0; i < words; ++i) out[i] = word(me, round, i);
      static_cast<void>(lci::post_put(mine, there));
      lci::signal_wait(sent);
      lci::signal_reset(sent);
    }
    lci::signal_wait(arrived);
    for (size_t i = 0; i < words; ++i) EXPECT(in[i] == word(peer, round, i));
    lci::signal_reset(arrived);
    if ((me & 1) == 1) {
      for (size_t i = 0; i < words; ++i) out[i] = word(me, round, i);
      static_cast<void>(lci::post_put(mine, there));
      lci::signal_wait(sent);
      lci::signal_reset(sent);
    }
  }
  lci::wait_drained();
  lci::free_comp(&sync);
  lci::free_comp(&sent);
  lci::free_comp(&arrived);
  if (allocated) {
    lci::free_mr(&mr);
  } else {
    lci::deregister_memory(&mr);
  }
}

// Threads put to the next rank at the same time, each into its part of one block: one signal.
void ring_of_threads() {
  constexpr int threads = 4;
  constexpr size_t part = 5000;
  const int me = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  const int from = (me + ranks - 1) % ranks;
  std::vector<unsigned char> in(threads * part), out(threads * part);
  lci::mr_t in_mr = lci::register_memory(in.data(), in.size());
  lci::mr_t out_mr = lci::register_memory(out.data(), out.size());
  lci::comp_t arrived = lci::alloc_signal_x(threads).name("arrived")();
  lci::comp_t sent = lci::alloc_signal_x(threads).name("sent")();
  const lci::block_t own = lci::make_block_x(in_mr, 0, in.size()).recv_signal(arrived)();
  std::vector<lci::block_t> all(static_cast<size_t>(ranks));
  lci::allgather(&own, all.data(), sizeof(own));
  const lci::block_t mine = lci::make_block_x(out_mr, 0, out.size()).send_signal(sent)();
  const lci::block_t& theirs = all[static_cast<size_t>((me + 1) % ranks)];
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> team;
    for (size_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        std::memset(out.data() + t * part, me * 20 + round + static_cast<int>(t), part);
        static_cast<void>(lci::post_put(lci::sub_block(mine, t * part, part),
                                        lci::sub_block(theirs, t * part, part)));
        lci::signal_wait(arrived);
        lci::signal_wait(sent);
        const auto expected = static_cast<unsigned char>(from * 20 + round + static_cast<int>(t));
        for (size_t i = 0; i < part; ++i) EXPECT(in[t * part + i] == expected);
      });
    }
    for (std::thread& each : team) each.join();
    lci::signal_reset(arrived);
    lci::signal_reset(sent);
    lci::barrier();
  }
  lci::wait_drained();
  lci::barrier();
  lci::deregister_memory(&in_mr);
  lci::deregister_memory(&out_mr);
  lci::free_comp(&arrived);
  lci::free_comp(&sent);
}

// Rows of a square matrix are spread over the ranks, and so are its columns after a plan.
void transpose() {
  const auto me = static_cast<size_t>(lci::get_rank_me());
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  constexpr size_t each = 6;
  const size_t side = each * ranks;
  std::vector<uint64_t> rows(each * side), columns(side * each);
  lci::mr_t rows_mr = lci::register_memory(rows.data(), rows.size() * 8);
  lci::mr_t columns_mr = lci::register_memory(columns.data(), columns.size() * 8);
  std::vector<lci::layout_t> out, in;
  for (size_t r = 0; r < ranks; ++r) {
    // Of each of my rows the columns of rank r; they become `each` rows of its columns.
    out.push_back({r * each * 8, each * 8, each, side * 8});
    in.push_back({r * each * each * 8, each * each * 8});
  }
  const auto events = static_cast<int64_t>(ranks);
  lci::comp_t sent = lci::alloc_signal_x(events).name("sent")();
  lci::comp_t arrived = lci::alloc_signal_x(events).name("arrived")();
  lci::comp_t finished = lci::alloc_signal_x(1).name("finished")();
  lci::plan_t plan = lci::alloc_plan_x().comp(finished)();
  lci::convert_alltoallv(plan, rows_mr, out.data(), columns_mr, in.data(), sent, arrived);
  for (int round = 0; round < 30; ++round) {
    for (size_t y = 0; y < each; ++y) {
      for (size_t x = 0; x < side; ++x) {
        rows[y * side + x] = word(static_cast<int>(me * each + y), round, x);
      }
    }
    lci::barrier();
    lci::plan_start(plan);
    lci::signal_wait(arrived);
    for (size_t y = 0; y < side; ++y) {
      for (size_t x = 0; x < each; ++x) {
        EXPECT(columns[y * each + x] == word(static_cast<int>(y), round, me * each + x));
      }
    }
    lci::signal_wait(sent);
    lci::signal_wait(finished);
    for (lci::comp_t signal : {sent, arrived, finished}) lci::signal_reset(signal);
    lci::barrier();
  }
  lci::free_plan(&plan);
  lci::deregister_memory(&rows_mr);
  lci::deregister_memory(&columns_mr);
  for (lci::comp_t* signal : {&sent, &arrived, &finished}) lci::free_comp(signal);
}

void body() {
  lci::g_runtime_init();
  for (size_t words : {size_t{1}, size_t{1000}, size_t{100000}}) {
    for (bool allocated : {false, true}) ping_pong(words, allocated);
    lci::barrier();
  }
  ring_of_threads();
  transpose();
  lci::barrier();
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(body); }
