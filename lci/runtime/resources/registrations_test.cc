#include "lci/runtime/resources/registrations.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "lci/base/status.h"
#include "lci/runtime/resources/fake_network.h"

namespace lci::rt {
namespace {

bool covers(const fake_network& network, const registrations::use& use, const void* address,
            size_t size) {
  return network.is_at(use.local, use.offset, address) && network.covers(use.local, address, size);
}

class Registrations : public testing::Test {
 protected:
  registrations::use acquire(size_t offset, size_t size) {
    const auto use = all_.acquire(&bytes_[offset], size);
    EXPECT_TRUE(use.ok()) << use.status();
    EXPECT_TRUE(covers(network_, *use, &bytes_[offset], size));
    return *use;
  }
  // As the program does.
  net::local_region add(size_t offset, size_t size) {
    const auto made = network_.register_memory(&bytes_[offset], size);
    all_.add(*made, &bytes_[offset], size);
    return *made;
  }
  void remove(net::local_region region, size_t offset) {
    all_.remove(region, &bytes_[offset], [this, region] { network_.deregister_memory(region); });
  }

  std::vector<char> bytes_ = std::vector<char>(100000);
  fake_network network_;
  registrations all_{network_};
};

TEST_F(Registrations, AreKeptOnlyIfAskedFor) {
  all_.release(acquire(0, 100), /*keep=*/false);
  EXPECT_EQ(network_.open(), 0u);
  all_.release(acquire(0, 100), /*keep=*/true);
  EXPECT_EQ(network_.open(), 1u);
  all_.release(acquire(20, 80), /*keep=*/true);
  EXPECT_EQ(all_.count().made, 2u);
  EXPECT_EQ(all_.count().found, 1u);
  EXPECT_EQ(all_.count().kept, 1u);
  EXPECT_EQ(all_.count().kept_bytes, 100u);
  all_.release(acquire(20, 81), /*keep=*/false);
  EXPECT_EQ(all_.count().made, 3u) << "a byte more than is registered";
  all_.release(acquire(20, 80), /*keep=*/false);
  EXPECT_EQ(network_.open(), 0u) << "the last user does not want it kept";
}

TEST_F(Registrations, OperationsAtOnceShareOne) {
  const auto first = acquire(0, 1000);
  const auto second = acquire(500, 500);
  EXPECT_EQ(first.local.handle, second.local.handle);
  all_.release(first, false);
  EXPECT_EQ(network_.open(), 1u);
  EXPECT_TRUE(covers(network_, second, &bytes_[500], 500));
  all_.release(second, false);
  EXPECT_EQ(network_.open(), 0u);
}

TEST_F(Registrations, OfTheProgramAreFoundAndStayOpen) {
  const net::local_region own = add(1000, 1000);
  const auto use = acquire(1500, 500);
  EXPECT_EQ(use.local.handle, own.handle);
  all_.release(use, false);
  EXPECT_EQ(network_.open(), 1u);
  EXPECT_EQ(all_.count().made, 0u);
  remove(own, 1000);
  EXPECT_EQ(network_.open(), 0u);
  const auto again = acquire(1500, 500);
  EXPECT_NE(again.local.handle, own.handle);
  all_.release(again, false);
}

TEST_F(Registrations, ClosedByTheProgramTheyEndWithTheirLastUse) {
  const net::local_region own = add(0, 1000);
  const auto use = acquire(0, 10);
  remove(own, 0);
  EXPECT_TRUE(covers(network_, use, &bytes_[0], 10));
  const auto other = acquire(0, 10);
  EXPECT_NE(other.local.handle, own.handle) << "nobody else finds it";
  all_.release(use, true);
  EXPECT_EQ(network_.open(), 1u);
  all_.release(other, false);
  EXPECT_EQ(network_.open(), 0u);
}

TEST_F(Registrations, WhatTheProgramClosesIsNotKept) {
  all_.release(acquire(0, 100), true);     // ends before it
  all_.release(acquire(950, 100), true);   // ends in it
  all_.release(acquire(1200, 100), true);  // in it
  const auto used = acquire(1900, 200);    // ends behind it, in use
  all_.release(acquire(2100, 100), true);  // behind it
  const net::local_region own = add(1000, 1000);
  const net::local_region twin = add(1000, 1000);
  EXPECT_EQ(network_.open(), 7u);
  remove(twin, 1000);
  EXPECT_EQ(network_.open(), 4u);
  EXPECT_EQ(all_.count().kept, 2u);
  all_.release(used, true);
  EXPECT_EQ(network_.open(), 3u) << "in use when its memory was closed: not kept";
  remove(own, 1000);
  EXPECT_EQ(network_.open(), 2u);
}

TEST_F(Registrations, TheOldestGoFirst) {
  for (size_t i = 0; i < registrations::max_kept + 10; ++i) {
    all_.release(acquire(10 * i, 10), true);
    all_.release(acquire(0, 10), true);  // used again and again
  }
  EXPECT_EQ(network_.open(), registrations::max_kept);
  const uint64_t made = all_.count().made;
  all_.release(acquire(0, 10), true);
  EXPECT_EQ(all_.count().made, made);
  all_.release(acquire(10, 10), true);
  EXPECT_EQ(all_.count().made, made + 1);
}

TEST(RegistrationsOfAFullNetwork, GiveUpWhatIsKept) {
  // Not on the stack, where the address sanitizer does not keep its alignment.
  const auto made = std::make_unique<fake_network>(3);
  fake_network& network = *made;
  registrations all(network);
  std::vector<char> bytes(1000);
  const auto used = all.acquire(bytes.data(), 10);
  ASSERT_TRUE(used.ok());
  for (size_t i = 1; i < 50; ++i) {
    const auto use = all.acquire(&bytes[10 * i], 10);
    ASSERT_TRUE(use.ok()) << use.status();
    all.release(*use, true);
  }
  const auto second = all.acquire(&bytes[500], 10);
  const auto third = all.acquire(&bytes[600], 10);
  ASSERT_TRUE(second.ok() && third.ok());
  const auto fourth = all.acquire(&bytes[700], 10);
  EXPECT_EQ(fourth.status().code(), base::StatusCode::kResourceExhausted);
  all.release(*used, false);
  all.release(*second, false);
  all.release(*third, false);
}

TEST_F(Registrations, ManyThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::minstd_rand random(t + 1);
      for (int i = 0; i < 2000; ++i) {
        const size_t offset = random() % 64 * 100;
        const size_t size = 1 + random() % 1000;
        if (random() % 16 == 0) {
          const net::local_region own = add(offset, size);
          all_.release(acquire(offset, size), false);
          remove(own, offset);
        } else {
          const auto use = acquire(offset, size);
          const auto other = acquire(offset, 1);
          all_.release(use, random() % 2 == 0);
          EXPECT_TRUE(covers(network_, other, &bytes_[offset], 1));
          all_.release(other, random() % 2 == 0);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const registrations::counts counted = all_.count();
  EXPECT_EQ(counted.kept, network_.open());
  EXPECT_GT(counted.found, 0u);
}

}  // namespace
}  // namespace lci::rt
