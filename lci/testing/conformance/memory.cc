// Tests of registered, allocated, mapped and closed memory.
#include <algorithm>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/scoped.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {

// Memory that was freed is no longer accessible. Allocated memory is zero.
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
      seen.push_back(self.exchange(key)[static_cast<size_t>(to)]);
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
      self.polling_barrier(see);
      EXPECT_EQ(bytes[size - 1], 7);
      for (size_t old = 0; old < round; ++old) EXPECT_FALSE(put_to(seen[old]));
      self.polling_barrier(see);
      EXPECT_EQ(bytes[size - 1], 7);
      self.network.free_memory(*made);
    }
    self.network.deregister_memory(*buffer);
  });
}

// Loads and stores to mapped memory of another rank, and copies of memory that the other rank has
// not registered, where the network has them.
TEST_P(Conformance, MappedAndReadableMemoryIsThatOfTheOtherRank) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    constexpr size_t size = 10000;
    const auto made = self.network.allocate_memory(size);
    ASSERT_TRUE(made.ok()) << made.status();
    auto* const own = static_cast<unsigned char*>(made->address);
    std::vector<unsigned char> unregistered(size, static_cast<unsigned char>(self.rank + 100));
    const remote_region remote =
        self.exchange(self.network.remote_key(made->region))[static_cast<size_t>(to)];
    const uint64_t address = self.exchange(static_cast<uint64_t>(
        reinterpret_cast<uintptr_t>(unregistered.data())))[static_cast<size_t>(to)];
    auto* const mapped = static_cast<unsigned char*>(self.network.map_memory(to, remote, size));
    EXPECT_EQ(mapped != nullptr, self.network.maps_memory_of(to));
    if (self.network.maps_memory()) {
      EXPECT_NE(mapped, nullptr);
    }
    if (mapped != nullptr) {
      mapped[0] = static_cast<unsigned char>(self.rank + 1);
      mapped[size - 1] = static_cast<unsigned char>(self.rank + 2);
      // Beyond the end of the region.
      EXPECT_EQ(self.network.map_memory(to, remote, size + 1), nullptr);
    }
    std::vector<unsigned char> copy(size);
    EXPECT_EQ(self.network.read_memory(to, copy.data(), address, size),
              self.network.reaches_memory(to));
    if (self.network.reaches_memory(to)) {
      EXPECT_EQ(copy, std::vector<unsigned char>(size, static_cast<unsigned char>(to + 100)));
    }
    self.barrier();
    // One byte stays as it was.
    std::fill(copy.begin(), copy.end(), static_cast<unsigned char>(self.rank + 50));
    EXPECT_EQ(self.network.write_memory(to, address + 1, copy.data(), size - 1),
              self.network.reaches_memory(to));
    self.barrier();
    if (self.network.reaches_memory(from)) {
      EXPECT_EQ(unregistered[0], self.rank + 100);
      EXPECT_EQ(std::count(unregistered.begin() + 1, unregistered.end(), from + 50),
                static_cast<ptrdiff_t>(size - 1));
    }
    if (self.network.maps_memory_of(from)) {
      EXPECT_EQ(own[0], from + 1);
      EXPECT_EQ(own[size - 1], from + 2);
    }
    self.network.free_memory(*made);
  });
}

// Memory that is not registered, of a rank that says that it is got sooner than sent.
TEST_P(Conformance, WhatIsGotSoonerCanBeRead) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    for (const size_t size : {size_t{1}, size_t{10000}, size_t{100000}}) {
      const std::vector<unsigned char> bytes = make_bytes(self.rank, 3, size);
      const auto addresses = self.exchange(reinterpret_cast<uintptr_t>(bytes.data()));
      const char offered = self.dev.is_got_sooner(from, size, /*alone=*/true) ? 1 : 0;
      if (self.exchange(offered)[static_cast<size_t>(to)] == 1) {
        std::vector<unsigned char> copy(size);
        EXPECT_TRUE(
            self.dev.read_memory(to, copy.data(), addresses[static_cast<size_t>(to)], size));
        EXPECT_TRUE(has_bytes(copy.data(), to, 3, size)) << size;
      }
      self.barrier();
    }
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
    // A network that moves all bytes in messages has no registrations.
    EXPECT_TRUE(most == before || most >= before + 4) << before << " and " << most;
    self.network.free_memory(*allocated);
    for (const local_region each : open) self.network.deregister_memory(each);
    EXPECT_EQ(self.network.registrations(), before);
  });
}

// In a context of its own, which has room for a few more than its device needs.
TEST_P(Conformance, RegistrationsBeyondTheLimitAreRefused) {
  run([](rank_under_test& self) {
    char memory = 0;
    const size_t before = self.network.registrations();
    const auto first = self.network.register_memory(&memory, 1);
    ASSERT_TRUE(first.ok()) << first.status();
    const size_t each = self.network.registrations() - before;
    self.network.deregister_memory(*first);
    if (each == 0) {
      self.skip("the network has no registrations");
      return;
    }
    context_config config = GetParam().config;
    config.max_registrations = before + 3 * each;
    boot::scoped_bootstrap scope(self.boot, "limited");
    const auto network = GetParam().entry->make(scope, config);
    ASSERT_TRUE(network.ok()) << network.status();
    device_config device;
    device.max_message = max_message;
    device.attr = GetParam().device;
    const auto made = (*network)->make_device(device);
    ASSERT_TRUE(made.ok()) << made.status();
    std::vector<local_region> open;
    base::Status refused;
    while (refused.ok() && open.size() < 100) {
      const auto region = (*network)->register_memory(&memory, 1);
      if (region.ok()) open.push_back(*region);
      refused = region.status();
    }
    EXPECT_TRUE(base::IsResourceExhausted(refused)) << refused;
    EXPECT_LE(open.size(), config.max_registrations);
    EXPECT_TRUE(base::IsResourceExhausted((*network)->allocate_memory(100).status()));
    ASSERT_FALSE(open.empty());
    (*network)->deregister_memory(open.back());
    const auto again = (*network)->register_memory(&memory, 1);
    EXPECT_TRUE(again.ok()) << again.status();
    if (again.ok()) open.back() = *again;
    for (const local_region region : open) (*network)->deregister_memory(region);
    self.barrier();
  });
}

TEST_P(Conformance, ClosedMemoryIsFatalAndUntouched) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const size_t n = std::min<size_t>(1000, self.dev.limits().max_rma - 1);
    std::vector<unsigned char> exposed(3000, 1);
    std::vector<unsigned char> local(3000, 2);
    const auto mine = self.network.register_memory(exposed.data() + 1000, n);
    const auto buffer = self.network.register_memory(local.data(), local.size());
    ASSERT_TRUE(mine.ok() && buffer.ok());
    const remote_region key = self.network.remote_key(*mine);
    const remote_region remote = self.exchange(key)[static_cast<size_t>(to)];
    int notified = 0;
    const auto see = [&](const completion& c) {
      notified += c.kind == completion_kind::remote_put ? 1 : 0;
    };
    const auto answer_of = [&](op_kind kind, remote_region region, uint64_t offset, size_t size) {
      op operation;
      operation.kind = kind;
      operation.rank = to;
      operation.local = *buffer;
      operation.buffer = local.data();
      operation.size = size;
      operation.remote = region;
      operation.remote_offset = offset;
      const error_t result = self.post(operation, see);
      if (!result.is_posted()) return result.errorcode;
      bool finished = false;
      bool failed = false;
      self.poll_until([&] { return finished; },
                      [&](const completion& c) {
                        see(c);
                        if (c.kind == completion_kind::remote_put) return;
                        EXPECT_EQ(c.kind, make_completion(kind, to, nullptr, false).kind);
                        finished = true;
                        failed = c.failed;
                      });
      return failed ? errorcode_t::fatal : errorcode_t::done;
    };
    const auto expect_closed = [&](const char* why, remote_region region, uint64_t offset,
                                   size_t size) {
      EXPECT_EQ(answer_of(op_kind::put, region, offset, size), errorcode_t::fatal) << why;
      EXPECT_EQ(answer_of(op_kind::get, region, offset, size), errorcode_t::fatal) << why;
      if (!self.dev.limits().has_put_imm) return;
      EXPECT_EQ(answer_of(op_kind::put_imm, region, offset, size), errorcode_t::fatal) << why;
    };
    remote_region forged = remote;
    forged.key ^= 0x5555;
    remote_region wild = remote;
    wild.base = ~uint64_t{0};
    expect_closed("larger than the region", remote, 0, n + 1);
    expect_closed("beyond the end", remote, 1, n);
    expect_closed("behind the end", remote, n + 1, 1);
    expect_closed("a sum that overflows", remote, ~uint64_t{0}, 2);
    expect_closed("another key", forged, 0, 10);
    expect_closed("another base", wild, 0, 10);
    expect_closed("an empty key", remote_region(), 0, 10);
    self.polling_barrier(see);
    self.network.deregister_memory(*mine);
    self.polling_barrier(see);
    expect_closed("deregistered", remote, 0, 10);
    const auto again = self.network.register_memory(exposed.data() + 1000, n);
    self.polling_barrier(see);
    expect_closed("the old key of memory registered anew", remote, 0, 10);
    self.polling_barrier(see);
    EXPECT_EQ(std::count(exposed.begin(), exposed.end(), 1), 3000);
    EXPECT_EQ(notified, 0) << "of puts to closed memory";
    self.network.deregister_memory(*again);
    self.network.deregister_memory(*buffer);
  });
}

}  // namespace lci::net::conformance
