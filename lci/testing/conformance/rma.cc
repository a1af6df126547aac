// Tests of puts, gets and adds.
#include <sched.h>

#include <algorithm>
#include <set>
#include <vector>

#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {

// Registers `size` bytes for remote access: those of `own`, or, if that is empty, bytes that the
// network allocates.
void open_memory(rank_under_test& self, size_t size, std::vector<unsigned char>* own,
                 context::allocation* opened) {
  if (!own->empty()) {
    const auto made = self.network.register_memory(own->data(), size);
    ASSERT_TRUE(made.ok()) << made.status();
    *opened = {own->data(), size, *made};
    return;
  }
  const auto made = self.network.allocate_memory(size);
  ASSERT_TRUE(made.ok()) << made.status();
  *opened = *made;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(opened->address) % 4096, 0u);
  EXPECT_EQ(opened->size, size);
}

void close_memory(rank_under_test& self, bool allocated, const context::allocation& opened) {
  if (allocated) {
    self.network.free_memory(opened);
  } else {
    self.network.deregister_memory(opened.region);
  }
}

// The memory is allocated by the network, or else by the test and registered.
void expect_bytes_move(Conformance& test, bool allocated) {
  test.run([allocated](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    const size_t room = std::min<size_t>(self.dev.limits().max_rma, 1 << 20);
    std::vector<unsigned char> own(allocated ? 0 : room);
    std::vector<unsigned char> local(room);
    context::allocation memory;
    ASSERT_NO_FATAL_FAILURE(open_memory(self, room, &own, &memory));
    const auto* exposed = static_cast<const unsigned char*>(memory.address);
    EXPECT_EQ(std::count(exposed, exposed + room, 0), static_cast<std::ptrdiff_t>(room));
    const auto buffer = self.network.register_memory(local.data(), room);
    ASSERT_TRUE(buffer.ok());
    const remote_region key = self.network.remote_key(memory.region);
    const remote_region remote = self.exchange(key)[static_cast<size_t>(to)];

    const bool notifies = self.dev.limits().has_put_imm;
    int finished = 0;
    int notified = 0;
    net_imm_data_t imm = 0;
    net_imm_data_t imm_high = 0;
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::remote_put) {
        EXPECT_EQ(c.rank, from);
        imm = c.imm;
        imm_high = c.imm_high;
        ++notified;
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
      put.kind = notifies ? op_kind::put_imm : op_kind::put;
      put.size = size;
      put.remote_offset = offset;
      put.imm = static_cast<net_imm_data_t>(0xabcd0000u + size % 1000) & imm_mask(self.dev);
      if (self.dev.limits().put_imm_bits == 64) put.imm_high = put.imm ^ 0xfedc0000u;
      complete(put);
      if (notifies) {
        ++round;
        self.poll_until([&] { return notified == round; }, see);
        EXPECT_EQ(imm, put.imm);
        if (put.imm_high != 0) {
          EXPECT_EQ(imm_high, put.imm_high);
        }
      } else {
        self.polling_barrier(see);
      }
      EXPECT_TRUE(has_bytes(exposed + offset, from, seed, size));
      self.polling_barrier(see);
      std::fill(local.begin(), local.end(), static_cast<unsigned char>(0));
      op get;
      get.kind = op_kind::get;
      get.size = size;
      get.remote_offset = offset;
      complete(get);
      EXPECT_TRUE(has_bytes(local.data(), self.rank, seed, size))
          << "the bytes that this rank has put there";
      self.polling_barrier(see);
    }
    close_memory(self, allocated, memory);
    self.network.deregister_memory(*buffer);
  });
}

TEST_P(Conformance, PutGetAndPutImmMoveBytesAtEverySize) { expect_bytes_move(*this, false); }

TEST_P(Conformance, PutGetAndPutImmReachAllocatedMemory) { expect_bytes_move(*this, true); }

// A short post does the same as post(), or nothing.
void expect_short_posts(Conformance& test, bool allocated) {
  test.run([allocated](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    // A device may reach ranks in several ways.
    const device_limits& there = self.dev.limits(to);
    const size_t most = there.needs_registration || there.rma_short == 0 ? 0 : there.rma_short - 1;
    const size_t most_of_peer = self.exchange(most)[static_cast<size_t>(from)];
    constexpr size_t room = 1 << 15;
    std::vector<unsigned char> own(allocated ? 0 : room);
    context::allocation memory;
    ASSERT_NO_FATAL_FAILURE(open_memory(self, room, &own, &memory));
    const auto* exposed = static_cast<const unsigned char*>(memory.address);
    const remote_region key = self.network.remote_key(memory.region);
    const remote_region remote = self.exchange(key)[static_cast<size_t>(to)];
    std::vector<net_imm_data_t> notified;
    const auto see = [&](const completion& c) {
      EXPECT_EQ(c.kind, completion_kind::remote_put);
      EXPECT_EQ(c.rank, from);
      notified.push_back(c.imm);
    };
    // The answer that does not ask to try again.
    const auto answer_of = [&](short_op what, net_imm_data_t imm, void* bytes, size_t size,
                               const remote_place& where) {
      error_t result;
      self.poll_until(
          [&] {
            result = self.dev.post_short(what, imm, bytes, size, &where);
            return !result.is_retry() || result.errorcode == errorcode_t::retry;
          },
          see);
      return result.errorcode;
    };
    const auto expected_of = [](size_t size, size_t limit) {
      return size <= limit && limit > 0 ? errorcode_t::done : errorcode_t::retry;
    };
    std::vector<unsigned char> expected(room);
    std::vector<unsigned char> written(room);
    std::vector<unsigned char> got;
    std::vector<net_imm_data_t> expected_imms;
    size_t place = 3;
    for (size_t size : {0,  1,  7,  8,  9,  24,  31,   32,   33,   39,   40,
                        41, 56, 57, 64, 65, 200, 1000, 2047, 2048, 2049, 5000}) {
      for (const bool notifies : {false, true}) {
        if (notifies && !self.dev.limits().has_put_imm) continue;
        std::vector<unsigned char> bytes = make_bytes(self.rank, place, size);
        const auto imm = static_cast<net_imm_data_t>(0x80001000u + place) & imm_mask(self.dev);
        const short_op put = {to, notifies ? op_kind::put_imm : op_kind::put};
        EXPECT_EQ(answer_of(put, imm, bytes.data(), size, {remote, place}), expected_of(size, most))
            << size << " bytes";
        bytes.assign(size, 0);  // a short post has copied it
        const auto begin = static_cast<std::ptrdiff_t>(place);
        if (expected_of(size, most_of_peer) == errorcode_t::done) {
          bytes = make_bytes(from, place, size);
          std::copy(bytes.begin(), bytes.end(), expected.begin() + begin);
          if (notifies) expected_imms.push_back(imm);
        }
        if (expected_of(size, most) == errorcode_t::done) {
          bytes = make_bytes(self.rank, place, size);
          std::copy(bytes.begin(), bytes.end(), written.begin() + begin);
        }
        place += size + 1;
      }
    }
    self.poll_until([&] { return notified.size() == expected_imms.size(); }, see);
    EXPECT_EQ(notified, expected_imms);
    self.polling_barrier(see);
    EXPECT_EQ(std::vector<unsigned char>(exposed, exposed + room), expected);
    for (size_t at = 0; at < room && most > 0;) {  // the bytes that this rank has put there
      const size_t size = std::min({room - at, at / 7 + 1, most});
      std::vector<unsigned char> bytes(size);
      EXPECT_EQ(answer_of({to, op_kind::get}, 0, bytes.data(), size, {remote, at}),
                errorcode_t::done)
          << size << " bytes";
      got.insert(got.end(), bytes.begin(), bytes.end());
      at += size;
    }
    if (most > 0) {
      EXPECT_EQ(got, written);
    }
    self.polling_barrier(see);
    // Operations that post() refuses.
    remote_region forged = remote;
    forged.key ^= 0x5555;
    remote_region wild = remote;
    wild.base = ~uint64_t{0};
    uint64_t word = ~uint64_t{0};
    if (sizeof(word) <= most) {
      const auto expect_refused = [&](const remote_place& where) {
        for (const op_kind kind : {op_kind::get, op_kind::put, op_kind::put_imm}) {
          if (kind == op_kind::put_imm && !self.dev.limits().has_put_imm) continue;
          EXPECT_EQ(answer_of({to, kind}, 1, &word, sizeof(word), where), errorcode_t::fatal);
        }
      };
      expect_refused({remote, room - 7});
      expect_refused({remote, ~uint64_t{0} - 3});
      expect_refused({forged, 0});
      expect_refused({wild, 0});
      expect_refused({remote_region(), 0});
    }
    self.polling_barrier(see);
    EXPECT_EQ(notified, expected_imms);
    EXPECT_EQ(std::vector<unsigned char>(exposed, exposed + room), expected);
    close_memory(self, allocated, memory);
  });
}

TEST_P(Conformance, ShortPutsAndGetsMoveBytesAndNotify) { expect_short_posts(*this, false); }

TEST_P(Conformance, ShortPutsAndGetsReachAllocatedMemory) { expect_short_posts(*this, true); }

// Every rank puts to every rank, and then adds to a counter there.
TEST_P(Conformance, AddsBecomeVisibleAfterThePutsBeforeThem) {
  run([](rank_under_test& self) {
    if (!self.dev.limits().has_add) {
      self.skip("the device has no adds");
      return;
    }
    const auto ranks = static_cast<size_t>(self.ranks);
    const size_t room = 64 + 64 * ranks;
    const auto memory = self.network.allocate_memory(room);
    std::vector<unsigned char> local(64, static_cast<unsigned char>(self.rank + 1));
    const auto buffer = self.network.register_memory(local.data(), local.size());
    ASSERT_TRUE(memory.ok() && buffer.ok());
    const remote_region key = self.network.remote_key(memory->region);
    const auto keys = self.exchange(key);
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
      put.remote = keys[static_cast<size_t>(r)];
      put.remote_offset = 64 + 64 * static_cast<size_t>(self.rank);
      put.context = &local;
      const int before = finished;
      const error_t result = self.post(put, see);
      ASSERT_TRUE(result.is_done() || result.is_posted());
      if (result.is_posted()) self.poll_until([&] { return finished > before; }, see);
      EXPECT_FALSE(self.dev.add(r, put.remote, room - 7, 1)) << "beyond the end";
      // Adds may not reach a rank; then no add does.
      const bool added = self.dev.add(r, put.remote, 8, int64_t{1} << 40);
      EXPECT_EQ(self.dev.add(r, put.remote, 8, -1), added);
      if (!added) reached = false;
    }
    const std::vector<char> all = self.exchange(char{reached});
    const bool everywhere =
        std::all_of(all.begin(), all.end(), [](char each) { return each != 0; });
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
    self.polling_barrier(see);
    self.network.deregister_memory(*buffer);
    self.network.free_memory(*memory);
    if (!everywhere) self.skip("adds do not reach every rank, so their order is not checked");
  });
}

// Every rank adds to a counter of every rank whose memory it maps.
TEST_P(Conformance, ProcessorsOfAllRanksOperateOnMappedAddresses) {
  run([](rank_under_test& self) {
    constexpr uint64_t additions = 10000;
    constexpr size_t room = 64;
    const auto memory = self.network.allocate_memory(room);
    ASSERT_TRUE(memory.ok());
    const auto keys = self.exchange(self.network.remote_key(memory->region));
    uint64_t mapped = 0;  // a bit for each rank
    for (int r = 0; r < self.ranks; ++r) {
      const remote_region& key = keys[static_cast<size_t>(r)];
      EXPECT_EQ(self.dev.mapped_address(r, key, room - 7, 8), nullptr) << "beyond the end";
      void* const found = self.dev.mapped_address(r, key, 8, 8);
      if (found == nullptr) continue;
      mapped |= uint64_t{1} << r;
      for (uint64_t i = 0; i < additions; ++i) {
        __atomic_fetch_add(static_cast<uint64_t*>(found), 1, __ATOMIC_RELAXED);
      }
    }
    uint64_t others = 0;  // ranks that map this rank's memory
    for (const uint64_t each : self.exchange(mapped)) others += each >> self.rank & 1;
    const auto* const counter = static_cast<const uint64_t*>(memory->address) + 1;
    EXPECT_EQ(__atomic_load_n(counter, __ATOMIC_ACQUIRE), others * additions);
    self.barrier();
    self.network.free_memory(*memory);
    self.barrier();
    for (int r = 0; r < self.ranks; ++r) {
      EXPECT_EQ(self.dev.mapped_address(r, keys[static_cast<size_t>(r)], 8, 8), nullptr)
          << "closed";
    }
    self.barrier();
    if (others == 0) self.skip("no rank maps memory");
  });
}

// No rank polls while the queues fill up. Afterwards each accepted put completes and is notified
// once.
TEST_P(Conformance, ManyConcurrentPutsAllCompleteAndNotifyOnce) {
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
    const remote_region remote = self.exchange(key)[static_cast<size_t>(to)];
    self.connect();
    const bool notifies = self.dev.limits().has_put_imm;
    const uint64_t most_named = notifies ? uint64_t{imm_mask(self.dev)} + 1 : most;
    op put;
    put.kind = notifies ? op_kind::put_imm : op_kind::put;
    put.rank = to;
    put.size = 8;
    put.local = *buffer;
    put.remote = remote;
    size_t posted = 0;
    uint64_t accepted = 0;
    for (int refused = 0; refused < 100 && accepted < std::min<uint64_t>(most, most_named);) {
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
    const uint64_t expected = self.exchange(accepted)[static_cast<size_t>(from)];
    size_t completed = 0;
    std::set<net_imm_data_t> notified;
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::remote_put) {
        EXPECT_EQ(c.rank, from);
        ASSERT_LT(c.imm, expected);
        EXPECT_TRUE(notified.insert(c.imm).second) << c.imm << " was reported twice";
        EXPECT_EQ(exposed[c.imm], c.imm + 1);
      } else {
        EXPECT_EQ(c.kind, completion_kind::put);
        EXPECT_FALSE(c.failed);
        ++completed;
      }
    };
    const size_t expected_notices = notifies ? expected : 0;
    self.poll_until([&] { return completed == posted && notified.size() == expected_notices; },
                    see);
    self.polling_barrier(see);
    EXPECT_EQ(completed, posted);
    for (size_t i = 0; i < expected; ++i) EXPECT_EQ(exposed[i], i + 1);
    self.network.deregister_memory(*mine);
    self.network.deregister_memory(*buffer);
  });
}

}  // namespace lci::net::conformance
