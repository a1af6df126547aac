// Random access: every rank changes random words of a table that is spread over all ranks (as the
// RandomAccess benchmark of HPC Challenge, whose unit is giga-updates per second).
//   lcrun -n 4 gups [updates [words]]    (of each rank)
//
// The updates are made twice: by remote atomics, and by active messages whose handler changes the
// word. An update is an exclusive or, so the second pass takes back what the first one did, and
// every word must then be as it was.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "lci.hpp"

namespace {

// Operations of one rank that are under way at a time.
constexpr int64_t window = 512;
// Updates between two calls of progress(), which other ranks may wait for.
constexpr int64_t updates_per_poll = 64;

struct update {
  int owner;
  uint64_t word;  // of the owner's part
  uint64_t value;
};

// The updates of all ranks, as a function of their number. (Random numbers: Steele, Lea, Flood,
// "Fast splittable pseudorandom number generators", OOPSLA'14.)
struct updates {
  int ranks;
  uint64_t words;  // of each rank

  update at(uint64_t number) const {
    uint64_t random = (number + 1) * 0x9e3779b97f4a7c15;
    random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9;
    random = (random ^ random >> 27) * 0x94d049bb133111eb;
    random ^= random >> 31;
    const uint64_t index = random % (static_cast<uint64_t>(ranks) * words);
    return {static_cast<int>(index / words), index % words, random};
  }
};

struct table {
  explicit table(uint64_t words_per_rank)
      : words(words_per_rank), memory(lci::alloc_mr(words * sizeof(uint64_t))) {
    own = static_cast<uint64_t*>(lci::get_mr_address(memory));
    for (uint64_t i = 0; i < words; ++i) own[i] = initial(i);
    parts.resize(static_cast<size_t>(lci::get_rank_n()));
    const lci::rmr_t part = lci::get_rmr(memory);
    lci::allgather(&part, parts.data(), sizeof(part));
  }
  // After a barrier: no rank uses the memory.
  ~table() { lci::free_mr(&memory); }
  table(const table&) = delete;
  table& operator=(const table&) = delete;

  uint64_t initial(uint64_t word) const {
    return static_cast<uint64_t>(lci::get_rank_me()) * words + word;
  }
  // Of all words of this rank and their initial values.
  uint64_t changes() const {
    uint64_t all = 0;
    for (uint64_t i = 0; i < words; ++i) all ^= own[i] ^ initial(i);
    return all;
  }
  uint64_t wrong() const {
    uint64_t count = 0;
    for (uint64_t i = 0; i < words; ++i) count += own[i] != initial(i) ? 1 : 0;
    return count;
  }

  const uint64_t words;
  lci::mr_t memory;
  uint64_t* own;
  std::vector<lci::rmr_t> parts;  // by rank
};

// By remote atomics.

void update_by_atomics(const table& of, const updates& all, uint64_t first, uint64_t count) {
  lci::comp_t counter = lci::alloc_counter();
  int64_t posted = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const update next = all.at(first + i);
    const auto post = lci::post_atomic_x(next.owner, lci::atomic_op_t::bit_xor, next.value,
                                         sizeof(uint64_t), counter, next.word * sizeof(uint64_t),
                                         of.parts[static_cast<size_t>(next.owner)]);
    lci::status_t status = post();
    while (status.is_retry()) {
      lci::progress();
      status = post();
    }
    // The counter counts those that were not done at once.
    if (status.is_posted()) ++posted;
    while (posted - lci::counter_get(counter) >= window) lci::progress();
    if (i % updates_per_poll == 0) lci::progress();
  }
  while (lci::counter_get(counter) < posted) lci::progress();
  lci::free_comp(&counter);
}

// By active messages.

struct request {
  uint64_t word;
  uint64_t value;
};

// The table that the handler updates. One thread of a rank makes progress, so no atomics are
// needed.
uint64_t* own_words = nullptr;
uint64_t received = 0;

void on_request(lci::status_t message) {
  request asked;
  std::memcpy(&asked, message.get_buffer(), sizeof(asked));
  own_words[asked.word] ^= asked.value;
  ++received;
}

void update_by_messages(const table& of, const updates& all, uint64_t first, uint64_t count,
                        lci::rcomp_t handler) {
  std::vector<uint64_t> sent(of.parts.size(), 0);  // by rank
  std::vector<uint64_t> coming(of.parts.size(), 0);
  for (uint64_t i = 0; i < count; ++i) {
    const update next = all.at(first + i);
    const request asked{next.word, next.value};
    static_cast<void>(lci::post_am(next.owner, &asked, sizeof(asked), lci::COMP_NULL, handler));
    ++sent[static_cast<size_t>(next.owner)];
    if (i % updates_per_poll == 0) lci::progress();
  }
  // A message is complete for its sender before its handler has run.
  lci::alltoall(sent.data(), coming.data(), sizeof(uint64_t));
  uint64_t expected = 0;
  for (const uint64_t each : coming) expected += each;
  while (received < expected) lci::progress();
}

// Both sides.

template <class Update>
double measure(const Update& update) {
  lci::barrier();
  const auto start = std::chrono::steady_clock::now();
  update();
  lci::barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The exclusive or of a value of every rank.
uint64_t combined(uint64_t own) {
  uint64_t all = 0;
  lci::allreduce(&own, &all, 1, sizeof(own), lci::reduce_bit_xor<uint64_t>);
  return all;
}

int run(uint64_t count, uint64_t words) {
  lci::g_runtime_init();
  int result = 0;
  {
    const int rank = lci::get_rank_me();
    const updates all{lci::get_rank_n(), words};
    const uint64_t first = static_cast<uint64_t>(rank) * count;
    const table shared(words);
    own_words = shared.own;
    lci::comp_t handler = lci::alloc_handler_x(on_request).lend_am(true)();
    const lci::rcomp_t handler_name = lci::register_rcomp(handler);

    const double by_atomics = measure([&] { update_by_atomics(shared, all, first, count); });
    uint64_t expected = 0;
    for (uint64_t i = 0; i < count; ++i) expected ^= all.at(first + i).value;
    const bool is_changed = combined(shared.changes()) == combined(expected);
    const double by_messages =
        measure([&] { update_by_messages(shared, all, first, count, handler_name); });

    const uint64_t own_wrong = shared.wrong();
    uint64_t wrong = 0;
    lci::allreduce(&own_wrong, &wrong, 1, sizeof(wrong), lci::reduce_sum<uint64_t>);
    result = is_changed && wrong == 0 ? 0 : 1;
    if (rank == 0) {
      const double millions = static_cast<double>(count) * all.ranks / 1e6;
      std::printf(
          "%d ranks, %llu words and %llu updates each: %.2f M/s by remote atomics, %.2f "
          "M/s by active messages; %llu words are wrong%s\n",
          all.ranks, static_cast<unsigned long long>(words), static_cast<unsigned long long>(count),
          millions / by_atomics, millions / by_messages, static_cast<unsigned long long>(wrong),
          is_changed ? "" : ", and the atomic operations lost updates");
    }
    lci::free_comp(&handler);
    lci::barrier();
  }
  lci::g_runtime_fina();
  return result;
}

// A positive number; 0 if it is none.
uint64_t number(const char* text) {
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  return value < 1 || *end != 0 ? 0 : static_cast<uint64_t>(value);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t updates = argc > 1 ? number(argv[1]) : 1000000;
  const uint64_t words = argc > 2 ? number(argv[2]) : 1 << 20;
  if (updates == 0 || words == 0 || argc > 3) {
    std::fprintf(stderr,
                 "usage: lcrun -n RANKS gups [updates [words]]    (of each rank, from 1)\n");
    return 2;
  }
  try {
    return run(updates, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gups: %s\n", error.what());
    return 1;
  }
}
