#include "lci/net/conformance/suite.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/boot/in_process.h"
#include "lci/boot/test_job.h"

namespace lci::net::conformance {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);

namespace {

constexpr std::chrono::seconds patience{120};
constexpr size_t max_message = 8192;

void ignore(const completion&) {}

// The immediate data that a put_imm carries, all of them.
net_imm_data_t imm_mask(const device& dev) {
  const int bits = dev.limits().put_imm_bits;
  return bits >= 32 ? ~net_imm_data_t{0} : (net_imm_data_t{1} << bits) - 1;
}

op make_send(int to, const void* bytes, size_t size, net_imm_data_t imm) {
  op send;
  send.kind = op_kind::send;
  send.inject = true;
  send.rank = to;
  send.buffer = const_cast<void*>(bytes);
  send.size = size;
  send.imm = imm;
  return send;
}

unsigned char pattern(int rank, size_t seed, size_t i) {
  return static_cast<unsigned char>(static_cast<size_t>(rank) * 37 + seed * 11 + i);
}

std::vector<unsigned char> make_bytes(int rank, size_t seed, size_t size) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = pattern(rank, seed, i);
  return bytes;
}

bool has_bytes(const void* bytes, int rank, size_t seed, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (static_cast<const unsigned char*>(bytes)[i] != pattern(rank, seed, i)) return false;
  }
  return true;
}

}  // namespace

void rank_under_test::meet() {
  ASSERT_TRUE(boot.barrier("meeting-" + std::to_string(meetings++), patience).ok());
}

void rank_under_test::meet_polling(const std::function<void(const completion&)>& use) {
  std::atomic<bool> met{false};
  std::thread meeting([&] {
    meet();
    met = true;
  });
  poll_until([&] { return met.load(); }, use);
  meeting.join();
}

void rank_under_test::poll_until(const std::function<bool()>& done,
                                 const std::function<void(const completion&)>& use) {
  base::backoff backoff;
  while (!done()) {
    completion completions[8];
    size_t count = 0;
    const error_t result = dev.poll(completions, 8, &count);
    ASSERT_TRUE(result.is_done() || result.is_retry());
    ASSERT_LE(count, 8u);
    if (!result.is_done()) {
      ASSERT_EQ(count, 0u);
      backoff.idle();
    }
    for (size_t i = 0; i < count; ++i) {
      use(completions[i]);
      if (completions[i].kind == completion_kind::recv) dev.release(completions[i]);
    }
  }
}

error_t rank_under_test::post(const op& operation,
                              const std::function<void(const completion&)>& use) {
  error_t result;
  poll_until(
      [&] {
        result = dev.post(operation);
        return !result.is_retry();
      },
      use);
  return result;
}

void rank_under_test::connect() {
  if (!testing::TestWithParam<backend_under_test>::GetParam().connects_late) return;
  int heard = 0;
  const auto hear = [&](const completion& c) { heard += c.kind == completion_kind::recv ? 1 : 0; };
  for (int to = 0; to < ranks; ++to) {
    ASSERT_TRUE(post(make_send(to, nullptr, 0, 0), hear).is_done());
  }
  poll_until([&] { return heard == ranks && dev.drained(); }, hear);
  meet();  // who polled now would take what faster ranks go on to send
}

namespace {

void run_rank(boot::bootstrap& boot, const backend_entry& backend, bool meet_at_end,
              const std::function<void(rank_under_test&)>& body) {
  auto network = backend.make(boot, Conformance::GetParam().config);
  ASSERT_TRUE(network.ok()) << network.status();
  device_config config;
  config.max_message = max_message;
  config.gather_size = Conformance::GetParam().gather_size;
  auto made = (*network)->make_device(config);
  ASSERT_TRUE(made.ok()) << made.status();
  rank_under_test rank{boot.rank(), boot.size(), boot, **network, **made};
  body(rank);
  if (!meet_at_end) return;
  // Others may still wait for what this rank has sent.
  rank.poll_until([&] { return rank.dev.drained(); }, ignore);
  rank.meet();
}

}  // namespace

void Conformance::run(const std::function<void(rank_under_test&)>& body) {
  const backend_under_test& param = GetParam();
  if (param.processes) {
    run_processes(0, body);
    return;
  }
  ASSERT_TRUE(param.entry->available());
  auto boots = boot::make_in_process_job(param.ranks, patience);
  std::vector<std::thread> threads;
  for (auto& boot : boots) {
    threads.emplace_back([&body, &param, own = std::move(boot)] {
      run_rank(*own, *param.entry, /*meet_at_end=*/true, body);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Conformance::run_processes(int victims, const std::function<void(rank_under_test&)>& body) {
  const backend_under_test& param = GetParam();
  ASSERT_TRUE(param.entry->available());
  boot::test_job job(boot::test_job::variant::file, param.ranks);
  const int lost = job.run_processes([&](int rank) {
    auto boot = job.connect(rank, patience);
    EXPECT_TRUE(boot.ok()) << boot.status();
    if (boot.ok()) run_rank(**boot, *param.entry, /*meet_at_end=*/victims == 0, body);
    return !HasFailure();
  });
  EXPECT_EQ(lost, victims);
}

TEST_P(Conformance, LimitsAreWhatWasAskedFor) {
  run([](rank_under_test& self) {
    EXPECT_GE(self.dev.limits().max_inject, 64u);
    EXPECT_GE(self.dev.limits().max_send, self.dev.limits().max_inject);
    EXPECT_GE(self.dev.limits().max_rma, 1u);
    EXPECT_STREQ(self.network.name(), GetParam().entry->name);
  });
}

TEST_P(Conformance, AnIdleDeviceSaysRetry) {
  run([](rank_under_test& self) {
    completion out;
    size_t count = 5;
    EXPECT_TRUE(self.dev.poll(&out, 1, &count).is_retry());
    EXPECT_EQ(count, 0u);
    EXPECT_TRUE(self.dev.drained());
  });
}

TEST_P(Conformance, EverySizeArrivesOnceWithItsImmediateInOrder) {
  run([](rank_under_test& self) {
    std::vector<size_t> sizes = {0, 1, 7, 8, 9, 47, 48, 49, 63, 64, 65, 111, 112, 113, 1000, 4096};
    const size_t max = self.dev.limits().max_inject;
    sizes.insert(sizes.end(), {max - 1, max});
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [max](size_t s) { return s > max; }),
                sizes.end());
    std::vector<size_t> next(static_cast<size_t>(self.ranks), 0);
    size_t arrived = 0;
    const auto check = [&](const completion& c) {
      ASSERT_EQ(c.kind, completion_kind::recv);
      size_t& number = next[static_cast<size_t>(c.rank)];
      ASSERT_EQ(c.imm, 0xffffff00u + number);  // all 32 bits
      ASSERT_EQ(c.size, sizes[number]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(c.bytes()) % 8, 0u);
      EXPECT_TRUE(has_bytes(c.bytes(), c.rank, number, c.size));
      ++number;
      ++arrived;
    };
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::vector<unsigned char> bytes = make_bytes(self.rank, i, sizes[i]);
      for (int to = 0; to < self.ranks; ++to) {
        op send =
            make_send(to, bytes.data(), bytes.size(), static_cast<net_imm_data_t>(0xffffff00u + i));
        // The first bytes as a header, where there are enough.
        if (sizes[i] >= 24) {
          send.header = bytes.data();
          send.header_size = 24;
          send.buffer = const_cast<unsigned char*>(bytes.data()) + 24;
          send.size -= 24;
        }
        EXPECT_TRUE(self.post(send, check).is_done());
      }
    }
    self.poll_until([&] { return arrived == sizes.size() * static_cast<size_t>(self.ranks); },
                    check);
    completion out;
    size_t count = 0;
    self.dev.poll(&out, 1, &count);
    EXPECT_EQ(count, 0u);
  });
}

TEST_P(Conformance, AFullWayIsRetryAndLosesNothing) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    self.connect();
    uint64_t accepted = 0;
    uint64_t value[128] = {};
    const size_t size = std::min(sizeof(value), self.dev.limits().max_inject);
    // Nobody polls: the way fills up. A refusal may have other reasons; a hundred in a row have
    // not.
    for (int refused = 0; refused < 100;) {
      value[0] = accepted;
      const error_t result = self.dev.post(make_send(to, value, size, 1));
      if (result.is_retry()) {
        ++refused;
        continue;
      }
      ASSERT_TRUE(result.is_done());
      ASSERT_LT(++accepted, 10000000u);
      refused = 0;
    }
    EXPECT_GT(accepted, 0u);
    const auto counts = self.boot.allgather(
        "accepted", absl::string_view(reinterpret_cast<const char*>(&accepted), sizeof(accepted)),
        patience);
    ASSERT_TRUE(counts.ok());
    constexpr uint64_t more = 1000;
    uint64_t expected;
    std::memcpy(&expected, (*counts)[static_cast<size_t>(from)].data(), sizeof(expected));
    expected += more;
    uint64_t received = 0;
    const auto check = [&](const completion& c) {
      uint64_t number;
      std::memcpy(&number, c.bytes(), sizeof(number));
      EXPECT_EQ(c.rank, from);
      EXPECT_EQ(number, received++);
    };
    for (uint64_t i = 0; i < more; ++i) {
      value[0] = accepted + i;
      ASSERT_TRUE(self.post(make_send(to, value, size, 1), check).is_done());
    }
    self.poll_until([&] { return received == expected; }, check);
  });
}

TEST_P(Conformance, LeasesHoldTheirBytesAndEndInAnyOrder) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    self.connect();
    for (size_t round = 0; round < 60; ++round) {
      constexpr size_t burst = 6;
      const size_t max = self.dev.limits().max_inject;
      const size_t size = std::min(max, 100 + 97 * round % max / 8);
      for (size_t i = 0; i < burst; ++i) {
        const auto bytes = make_bytes(self.rank, round * burst + i, size);
        // Without polling, which would take what we are about to hold. There is room for so few.
        while (self.dev.post(make_send(to, bytes.data(), size, 0)).is_retry()) {
        }
      }
      std::vector<completion> held;
      base::backoff backoff;
      while (held.size() < burst) {
        completion c;
        size_t count = 0;
        self.dev.poll(&c, 1, &count);
        if (count == 1) {
          held.push_back(c);
        } else {
          backoff.idle();
        }
      }
      for (size_t i : {3, 0, 5, 1, 4, 2}) {
        EXPECT_TRUE(has_bytes(held[i].bytes(), held[i].rank, round * burst + i, size));
        self.dev.release(held[i]);
      }
    }
  });
}

// Allocated: by the network, else by us and registered.
void expect_bytes_move(Conformance& test, bool allocated) {
  test.run([allocated](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    const size_t room = std::min<size_t>(self.dev.limits().max_rma, 1 << 20);
    std::vector<unsigned char> own(allocated ? 0 : room);
    std::vector<unsigned char> local(room);
    context::allocation memory;
    if (allocated) {
      const auto made = self.network.allocate_memory(room);
      ASSERT_TRUE(made.ok()) << made.status();
      memory = *made;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.address) % 4096, 0u);
      EXPECT_EQ(memory.size, room);
    } else {
      const auto made = self.network.register_memory(own.data(), room);
      ASSERT_TRUE(made.ok()) << made.status();
      memory = {own.data(), room, *made};
    }
    const auto* exposed = static_cast<const unsigned char*>(memory.address);
    EXPECT_EQ(std::count(exposed, exposed + room, 0), static_cast<std::ptrdiff_t>(room));
    const auto buffer = self.network.register_memory(local.data(), room);
    ASSERT_TRUE(buffer.ok());
    const remote_region key = self.network.remote_key(memory.region);
    const auto keys = self.boot.allgather(
        "keys", absl::string_view(reinterpret_cast<const char*>(&key), sizeof(key)), patience);
    ASSERT_TRUE(keys.ok());
    remote_region remote;
    std::memcpy(&remote, (*keys)[static_cast<size_t>(to)].data(), sizeof(remote));

    int finished = 0;
    int told = 0;
    net_imm_data_t imm = 0;
    net_imm_data_t imm_high = 0;
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::remote_put) {
        EXPECT_EQ(c.rank, from);
        imm = c.imm;
        imm_high = c.imm_high;
        ++told;
      } else {
        EXPECT_EQ(c.context, &local);
        EXPECT_FALSE(c.failed);
        ++finished;
      }
    };
    const auto complete = [&](op operation) {
      operation.rank = to;
      operation.local = *buffer;
      operation.buffer = local.data();
      operation.remote = remote;
      operation.context = &local;
      const int before = finished;
      const error_t result = self.post(operation, see);
      ASSERT_TRUE(result.is_done() || result.is_posted());
      if (result.is_posted()) self.poll_until([&] { return finished > before; }, see);
    };
    int round = 0;
    for (size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{100001}, room}) {
      if (size > room) continue;
      const size_t offset = (room - size) / 2;
      const size_t seed = size;
      std::copy_n(make_bytes(self.rank, seed, size).begin(), size, local.begin());
      op put;
      put.kind = op_kind::put_imm;
      put.size = size;
      put.remote_offset = offset;
      put.imm = static_cast<net_imm_data_t>(0xabcd0000u + size % 1000) & imm_mask(self.dev);
      if (self.dev.limits().put_imm_bits == 64) put.imm_high = put.imm ^ 0xfedc0000u;
      complete(put);
      ++round;
      self.poll_until([&] { return told == round; }, see);
      EXPECT_EQ(imm, put.imm);
      if (put.imm_high != 0) {
        EXPECT_EQ(imm_high, put.imm_high);
      }
      EXPECT_TRUE(has_bytes(exposed + offset, from, seed, size));
      self.meet_polling(see);
      std::fill(local.begin(), local.end(), static_cast<unsigned char>(0));
      op get;
      get.kind = op_kind::get;
      get.size = size;
      get.remote_offset = offset;
      complete(get);
      EXPECT_TRUE(has_bytes(local.data(), self.rank, seed, size)) << "what we put there";
      self.meet_polling(see);
    }
    if (allocated) {
      self.network.free_memory(memory);
    } else {
      self.network.deregister_memory(memory.region);
    }
    self.network.deregister_memory(*buffer);
  });
}

TEST_P(Conformance, PutGetAndPutImmMoveBytesAtEverySize) { expect_bytes_move(*this, false); }

TEST_P(Conformance, PutGetAndPutImmReachAllocatedMemory) { expect_bytes_move(*this, true); }

// Memory that was freed is closed, and comes back empty.
TEST_P(Conformance, AllocatedMemoryIsNewEachTime) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    unsigned char value = 7;
    const auto buffer = self.network.register_memory(&value, 1);
    ASSERT_TRUE(buffer.ok());
    std::vector<remote_region> seen;
    for (size_t round = 0; round < 5; ++round) {
      const size_t size = 5000 + round % 2;
      const auto made = self.network.allocate_memory(size);
      ASSERT_TRUE(made.ok()) << made.status();
      auto* bytes = static_cast<unsigned char*>(made->address);
      EXPECT_EQ(std::count(bytes, bytes + size, 0), static_cast<std::ptrdiff_t>(size));
      const remote_region key = self.network.remote_key(made->region);
      const auto keys = self.boot.allgather(
          absl::StrCat("keys", round),
          absl::string_view(reinterpret_cast<const char*>(&key), sizeof(key)), patience);
      ASSERT_TRUE(keys.ok());
      seen.emplace_back();
      std::memcpy(&seen.back(), (*keys)[static_cast<size_t>(to)].data(), sizeof(remote_region));
      int finished = 0;
      const auto see = [&](const completion& c) { finished += c.failed ? 1000 : 1; };
      const auto put_to = [&](const remote_region& remote) {
        op put;
        put.kind = op_kind::put;
        put.rank = to;
        put.local = *buffer;
        put.buffer = &value;
        put.size = 1;
        put.remote = remote;
        put.remote_offset = size - 1;
        const error_t result = self.post(put, see);
        if (!result.is_posted()) return result.is_done();
        const int before = finished;
        self.poll_until([&] { return finished > before; }, see);
        return finished == before + 1;
      };
      EXPECT_TRUE(put_to(seen.back()));
      self.meet_polling(see);
      EXPECT_EQ(bytes[size - 1], 7);
      for (size_t old = 0; old < round; ++old) EXPECT_FALSE(put_to(seen[old]));
      self.meet_polling(see);
      EXPECT_EQ(bytes[size - 1], 7);
      self.network.free_memory(*made);
    }
    self.network.deregister_memory(*buffer);
  });
}

TEST_P(Conformance, RegistrationsAreCountedUntilTheyEnd) {
  run([](rank_under_test& self) {
    const size_t before = self.network.registrations();
    std::vector<char> memory(3);
    std::vector<local_region> open;
    for (char& each : memory) {
      const auto made = self.network.register_memory(&each, 1);
      ASSERT_TRUE(made.ok()) << made.status();
      open.push_back(*made);
    }
    const auto allocated = self.network.allocate_memory(100);
    ASSERT_TRUE(allocated.ok()) << allocated.status();
    const size_t most = self.network.registrations();
    // (A network that moves all bytes in messages has none.)
    EXPECT_TRUE(most == before || most >= before + 4) << before << " and " << most;
    self.network.free_memory(*allocated);
    for (const local_region each : open) self.network.deregister_memory(each);
    EXPECT_EQ(self.network.registrations(), before);
  });
}

TEST_P(Conformance, MemoryThatIsNotOpenIsFatalAndUntouched) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const size_t n = std::min<size_t>(1000, self.dev.limits().max_rma - 1);
    std::vector<unsigned char> exposed(3000, 1);
    std::vector<unsigned char> local(3000, 2);
    const auto mine = self.network.register_memory(exposed.data() + 1000, n);
    const auto buffer = self.network.register_memory(local.data(), local.size());
    ASSERT_TRUE(mine.ok() && buffer.ok());
    const remote_region key = self.network.remote_key(*mine);
    const auto keys = self.boot.allgather(
        "keys", absl::string_view(reinterpret_cast<const char*>(&key), sizeof(key)), patience);
    remote_region remote;
    std::memcpy(&remote, (*keys)[static_cast<size_t>(to)].data(), sizeof(remote));
    const auto put = [&](remote_region region, uint64_t offset, size_t size) {
      op operation;
      operation.kind = op_kind::put;
      operation.rank = to;
      operation.local = *buffer;
      operation.buffer = local.data();
      operation.size = size;
      operation.remote = region;
      operation.remote_offset = offset;
      const error_t result = self.post(operation, ignore);
      if (!result.is_posted()) return result.errorcode;
      bool over = false;
      bool failed = false;
      self.poll_until([&] { return over; },
                      [&](const completion& c) {
                        EXPECT_EQ(c.kind, completion_kind::put);
                        over = true;
                        failed = c.failed;
                      });
      return failed ? errorcode_t::fatal : errorcode_t::done;
    };
    remote_region forged = remote;
    forged.key ^= 0x5555;
    remote_region wild = remote;
    wild.base = ~uint64_t{0};
    EXPECT_EQ(put(remote, 0, n + 1), errorcode_t::fatal);
    EXPECT_EQ(put(remote, 1, n), errorcode_t::fatal);
    EXPECT_EQ(put(remote, n + 1, 1), errorcode_t::fatal);
    EXPECT_EQ(put(remote, ~uint64_t{0}, 2), errorcode_t::fatal);
    EXPECT_EQ(put(forged, 0, 10), errorcode_t::fatal);
    EXPECT_EQ(put(wild, 0, 10), errorcode_t::fatal);
    EXPECT_EQ(put(remote_region(), 0, 10), errorcode_t::fatal);
    self.meet_polling(ignore);
    self.network.deregister_memory(*mine);
    self.meet_polling(ignore);
    EXPECT_EQ(put(remote, 0, 10), errorcode_t::fatal) << "after it was deregistered";
    const auto again = self.network.register_memory(exposed.data() + 1000, n);
    self.meet_polling(ignore);
    EXPECT_EQ(put(remote, 0, 10), errorcode_t::fatal) << "the old key of memory registered anew";
    self.meet_polling(ignore);
    EXPECT_EQ(std::count(exposed.begin(), exposed.end(), 1), 3000);
    self.network.deregister_memory(*again);
    self.network.deregister_memory(*buffer);
  });
}

// Every rank adds to a counter of every rank, behind a put each.
TEST_P(Conformance, AddsAreSeenBehindThePutsBeforeThem) {
  run([](rank_under_test& self) {
    if (!self.dev.limits().has_add) return;
    const auto ranks = static_cast<size_t>(self.ranks);
    const size_t room = 64 + 64 * ranks;
    const auto memory = self.network.allocate_memory(room);
    std::vector<unsigned char> local(64, static_cast<unsigned char>(self.rank + 1));
    const auto buffer = self.network.register_memory(local.data(), local.size());
    ASSERT_TRUE(memory.ok() && buffer.ok());
    const remote_region key = self.network.remote_key(memory->region);
    const auto keys = self.boot.allgather(
        "keys", absl::string_view(reinterpret_cast<const char*>(&key), sizeof(key)), patience);
    ASSERT_TRUE(keys.ok());
    int finished = 0;
    const auto see = [&](const completion& c) {
      EXPECT_FALSE(c.failed);
      ++finished;
    };
    bool reached = true;
    for (int r = 0; r < self.ranks; ++r) {
      op put;
      put.kind = op_kind::put;
      put.rank = r;
      put.local = *buffer;
      put.buffer = local.data();
      put.size = local.size();
      std::memcpy(&put.remote, (*keys)[static_cast<size_t>(r)].data(), sizeof(put.remote));
      put.remote_offset = 64 + 64 * static_cast<size_t>(self.rank);
      put.context = &local;
      const int before = finished;
      const error_t result = self.post(put, see);
      ASSERT_TRUE(result.is_done() || result.is_posted());
      if (result.is_posted()) self.poll_until([&] { return finished > before; }, see);
      EXPECT_FALSE(self.dev.add(r, put.remote, room - 7, 1)) << "beyond the end";
      // A rank may be out of reach; then it always is.
      const bool added = self.dev.add(r, put.remote, 8, int64_t{1} << 40);
      EXPECT_EQ(self.dev.add(r, put.remote, 8, -1), added);
      if (!added) reached = false;
    }
    const char word = reached ? 'y' : 'n';
    const auto all = self.boot.allgather("reached", absl::string_view(&word, 1), patience);
    ASSERT_TRUE(all.ok());
    const bool everywhere =
        std::all_of(all->begin(), all->end(), [](const std::string& each) { return each == "y"; });
    auto* const counter = static_cast<int64_t*>(memory->address) + 1;
    while (everywhere &&
           __atomic_load_n(counter, __ATOMIC_ACQUIRE) != self.ranks * ((int64_t{1} << 40) - 1)) {
      sched_yield();
    }
    if (everywhere) {
      for (size_t r = 0; r < ranks; ++r) {
        const auto* bytes = static_cast<const unsigned char*>(memory->address) + 64 + 64 * r;
        EXPECT_EQ(std::vector<unsigned char>(bytes, bytes + 64),
                  std::vector<unsigned char>(64, static_cast<unsigned char>(r + 1)));
      }
    }
    self.meet_polling(see);
    self.network.deregister_memory(*buffer);
    self.network.free_memory(*memory);
  });
}

TEST_P(Conformance, DevicesDoNotMix) {
  run([](rank_under_test& self) {
    device_config config;
    config.uid = 1;
    config.max_message = 512;
    auto second = self.network.make_device(config);
    ASSERT_TRUE(second.ok()) << second.status();
    rank_under_test other{self.rank, self.ranks, self.boot, self.network, **second, 1000};
    std::vector<net_imm_data_t> first_saw;
    std::vector<net_imm_data_t> second_saw;
    const auto see_first = [&](const completion& c) { first_saw.push_back(c.imm); };
    const auto see_second = [&](const completion& c) { second_saw.push_back(c.imm); };
    const int to = (self.rank + 1) % self.ranks;
    uint64_t value = 1;
    ASSERT_TRUE(self.post(make_send(to, &value, 8, 100), see_first).is_done());
    value = 2;
    ASSERT_TRUE(other.post(make_send(to, &value, 8, 200), see_second).is_done());
    other.poll_until([&] { return !second_saw.empty(); }, see_second);
    self.poll_until([&] { return !first_saw.empty(); }, see_first);
    EXPECT_EQ(first_saw, std::vector<net_imm_data_t>{100});
    EXPECT_EQ(second_saw, std::vector<net_imm_data_t>{200});
    self.meet();
  });
}

TEST_P(Conformance, WhatWasSentBeforeTheEndArrives) {
  run([](rank_under_test& self) {
    device_config config;
    config.uid = 1;
    auto second = self.network.make_device(config);
    ASSERT_TRUE(second.ok());
    rank_under_test other{self.rank, self.ranks, self.boot, self.network, **second, 2000};
    const int to = (self.rank + 1) % self.ranks;
    other.connect();
    uint64_t value = 42;
    bool seen = false;
    const auto see = [&](const completion& c) {
      EXPECT_EQ(c.kind, completion_kind::recv);
      EXPECT_EQ(c.imm, 7u);
      seen = true;
    };
    ASSERT_TRUE(other.post(make_send(to, &value, 8, 7), see).is_done());
    // Every rank but the last ends its device at once.
    if (self.rank + 1 < self.ranks) second->reset();
    self.meet();
    if (self.rank + 1 == self.ranks) {
      other.poll_until([&] { return seen; }, see);
    }
  });
}

TEST_P(Conformance, ManyThreadsPostPollAndRelease) {
  constexpr int threads = 4;
  constexpr uint64_t messages = 400;
  run([](rank_under_test& self) {
    const uint64_t expected = threads * messages * static_cast<uint64_t>(self.ranks);
    std::atomic<uint64_t> received{0};
    std::atomic<uint64_t> sum{0};
    std::vector<std::thread> workers;
    for (uint64_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        rank_under_test mine{self.rank, self.ranks, self.boot, self.network, self.dev};
        const auto take = [&](const completion& c) {
          uint64_t words[20];
          ASSERT_GE(c.size, sizeof(uint64_t));
          std::memcpy(words, c.bytes(), c.size);
          for (size_t i = 1; i < c.size / 8; ++i) EXPECT_EQ(words[i], words[0]);
          sum += words[0];
          ++received;
        };
        for (uint64_t m = 0; m < messages; ++m) {
          uint64_t words[20];
          std::fill_n(words, 20, t * messages + m);
          for (int to = 0; to < self.ranks; ++to) {
            const size_t size =
                std::min(8 * (1 + (m + t) % 20), mine.dev.limits().max_inject / 8 * 8);
            ASSERT_TRUE(mine.post(make_send(to, words, size, 0), take).is_done());
          }
        }
        mine.poll_until([&] { return received >= expected; }, take);
      });
    }
    for (std::thread& worker : workers) worker.join();
    const uint64_t all = threads * messages;
    EXPECT_EQ(received, expected);
    EXPECT_EQ(sum, all * (all - 1) / 2 * static_cast<uint64_t>(self.ranks));
  });
}

// Nobody polls while the ways fill up; then each put that was taken has an end, and is heard of
// once.
TEST_P(Conformance, ManyPutsAtOnceAllCompleteAndAreToldOnce) {
  run([](rank_under_test& self) {
    constexpr size_t most = 3000;
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    std::vector<uint64_t> exposed(most);
    std::vector<uint64_t> local(most);
    const auto mine = self.network.register_memory(exposed.data(), most * 8);
    const auto buffer = self.network.register_memory(local.data(), most * 8);
    ASSERT_TRUE(mine.ok() && buffer.ok());
    const remote_region key = self.network.remote_key(*mine);
    const auto keys = self.boot.allgather(
        "keys", absl::string_view(reinterpret_cast<const char*>(&key), sizeof(key)), patience);
    ASSERT_TRUE(keys.ok());
    self.connect();
    op put;
    put.kind = op_kind::put_imm;
    put.rank = to;
    put.size = 8;
    put.local = *buffer;
    std::memcpy(&put.remote, (*keys)[static_cast<size_t>(to)].data(), sizeof(put.remote));
    size_t posted = 0;
    uint64_t accepted = 0;
    for (int refused = 0; refused < 100 && accepted < most && accepted <= imm_mask(self.dev);) {
      local[accepted] = accepted + 1;
      put.buffer = &local[accepted];
      put.remote_offset = accepted * 8;
      put.imm = static_cast<net_imm_data_t>(accepted);
      const error_t result = self.dev.post(put);
      if (result.is_retry()) {
        ++refused;
        continue;
      }
      ASSERT_TRUE(result.is_done() || result.is_posted());
      posted += result.is_posted() ? 1 : 0;
      ++accepted;
      refused = 0;
    }
    EXPECT_GT(accepted, 0u);
    const auto counts = self.boot.allgather(
        "accepted", absl::string_view(reinterpret_cast<const char*>(&accepted), sizeof(accepted)),
        patience);
    ASSERT_TRUE(counts.ok());
    uint64_t expected;
    std::memcpy(&expected, (*counts)[static_cast<size_t>(from)].data(), sizeof(expected));
    size_t completed = 0;
    std::set<net_imm_data_t> told;
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::remote_put) {
        EXPECT_EQ(c.rank, from);
        ASSERT_LT(c.imm, expected);
        EXPECT_TRUE(told.insert(c.imm).second) << c.imm << " was told twice";
        EXPECT_EQ(exposed[c.imm], c.imm + 1);
      } else {
        EXPECT_EQ(c.kind, completion_kind::put);
        EXPECT_FALSE(c.failed);
        ++completed;
      }
    };
    self.poll_until([&] { return completed == posted && told.size() == expected; }, see);
    self.meet_polling(see);
    EXPECT_EQ(completed, posted);
    self.network.deregister_memory(*mine);
    self.network.deregister_memory(*buffer);
  });
}

// Each thread makes a device while the others make theirs, and has it to itself.
TEST_P(Conformance, ThreadsWithDevicesOfTheirOwn) {
  constexpr int threads = 3;
  constexpr uint64_t messages = 300;
  run([](rank_under_test& self) {
    std::vector<std::unique_ptr<device>> devices(threads);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        device_config config;
        config.uid = 1 + t;
        auto made = self.network.make_device(config);
        ASSERT_TRUE(made.ok()) << made.status();
        devices[static_cast<size_t>(t)] = *std::move(made);
        rank_under_test mine{self.rank, self.ranks, self.boot, self.network,
                             *devices[static_cast<size_t>(t)]};
        // Memory that is registered while the others' devices are made and used.
        std::vector<uint64_t> words(messages);
        const auto region = self.network.register_memory(words.data(), messages * 8);
        ASSERT_TRUE(region.ok()) << region.status();
        std::vector<uint64_t> next(static_cast<size_t>(self.ranks), 0);
        uint64_t received = 0;
        const auto take = [&](const completion& c) {
          ASSERT_EQ(c.kind, completion_kind::recv);
          ASSERT_EQ(c.size, 8u);
          uint64_t word;
          std::memcpy(&word, c.bytes(), 8);
          EXPECT_EQ(word, next[static_cast<size_t>(c.rank)]++);
          EXPECT_EQ(c.imm, static_cast<net_imm_data_t>(t)) << "from another device";
          ++received;
        };
        for (uint64_t m = 0; m < messages; ++m) {
          words[m] = m;
          for (int to = 0; to < self.ranks; ++to) {
            const op send = make_send(to, &words[m], 8, static_cast<net_imm_data_t>(t));
            ASSERT_TRUE(mine.post(send, take).is_done());
          }
        }
        const uint64_t expected = messages * static_cast<uint64_t>(self.ranks);
        mine.poll_until([&] { return received == expected && mine.dev.drained(); }, take);
        self.network.deregister_memory(*region);
      });
    }
    for (std::thread& worker : workers) worker.join();
    self.meet();
  });
}

// The last rank dies after a last word; the others hear the word, then once that it is gone, and go
// on with each other.
TEST_P(Conformance, ALostRankIsReportedOnceBehindWhatItSent) {
  const int ranks = GetParam().ranks;
  if (!GetParam().processes || ranks < 2) GTEST_SKIP() << "there is nobody to kill";
  run_processes(1, [ranks](rank_under_test& self) {
    const int victim = ranks - 1;
    uint64_t value = 42;
    if (self.rank == victim) {
      for (int to = 0; to < victim; ++to) {
        ASSERT_TRUE(self.post(make_send(to, &value, 8, 7), ignore).is_done());
      }
      // What it has handed to the network for good outlives it; a copy of its own would not.
      self.poll_until([&] { return self.dev.drained(); }, ignore);
      raise(SIGKILL);
    }
    int words = 0;
    int reports = 0;
    int others = 0;
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::peer_failed) {
        EXPECT_EQ(c.rank, victim);
        EXPECT_EQ(words, 1) << "what it had sent comes first";
        ++reports;
      } else {
        ASSERT_EQ(c.kind, completion_kind::recv);
        ++(c.rank == victim ? words : others);
      }
    };
    self.poll_until([&] { return reports == 1; }, see);
    EXPECT_EQ(self.post(make_send(victim, &value, 8, 0), see).errorcode, errorcode_t::fatal);
    for (int to = 0; to < victim; ++to) {
      ASSERT_TRUE(self.post(make_send(to, &value, 8, 0), see).is_done());
    }
    self.poll_until([&] { return others == victim; }, see);
    EXPECT_EQ(words, 1);
    EXPECT_EQ(reports, 1);
  });
}

}  // namespace lci::net::conformance
