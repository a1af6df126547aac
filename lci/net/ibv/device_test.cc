// Tests of what the conformance suite cannot observe, over simulated devices (fake_verbs.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/boot/in_process.h"
#include "lci/net/ibv/context.h"
#include "lci/testing/fake_verbs/fake_job.h"
#include "lci/testing/fake_verbs/fake_verbs.h"

namespace lci::net::ibv {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Registered memory of this rank, and the remote keys of all ranks' memory.
struct exposed {
  explicit exposed(rank_of_test& self) : network(self.network) {
    region = *network.register_memory(words, sizeof(words));
    const remote_region local = network.remote_key(region);
    const auto all = self.boot.allgather("exposed", as_bytes(local), patience);
    for (const std::string& bytes : *all) {
      remotes.emplace_back();
      std::memcpy(&remotes.back(), bytes.data(), sizeof(remote_region));
    }
  }
  ~exposed() { network.deregister_memory(region); }
  op put(int to, size_t from_word, size_t to_word) {
    op made;
    made.kind = op_kind::put_imm;
    made.rank = to;
    made.local = region;
    made.buffer = &words[from_word];
    made.size = sizeof(uint64_t);
    made.remote = remotes[static_cast<size_t>(to)];
    made.remote_offset = to_word * sizeof(uint64_t);
    made.imm = static_cast<net_imm_data_t>(to_word);
    return made;
  }

  rdma_context& network;
  uint64_t words[256] = {};
  local_region region;
  std::vector<remote_region> remotes;
};

configuration sleeping() {
  configuration config;
  config.device.attr.progress_thread = true;
  return config;
}

void talk(rank_of_test& self, int ranks) {
  const uint64_t value = 1;
  for (int to = 0; to < ranks; ++to) {
    ASSERT_TRUE(self.post(make_send(to, &value, sizeof(value))).is_done());
  }
  self.poll_until([&] { return self.count(completion_kind::recv) == static_cast<size_t>(ranks); });
  self.barrier();
}

int thread_domains_of(attr_ibv_td_strategy_t strategy) {
  configuration config;
  config.device.attr.ibv_td_strategy = strategy;
  int made = 0;
  run(2, config, [&](rank_of_test& self) {
    talk(self, 2);
    if (self.rank == 0) made = counts_of_fake().thread_domains;
    self.barrier();
  });
  const int counted = made;
  return counted;
}

TEST_F(Device, ThreadDomainsFollowTheStrategy) {
  settings_of_fake().has_thread_domains = true;
  // Two queue pairs to each of two ranks, on both ranks.
  EXPECT_EQ(thread_domains_of(attr_ibv_td_strategy_t::per_qp), 8);
  reset_fake();
  settings_of_fake().has_thread_domains = true;
  EXPECT_EQ(thread_domains_of(attr_ibv_td_strategy_t::all_qp), 2);
  reset_fake();
  settings_of_fake().has_thread_domains = true;
  EXPECT_EQ(thread_domains_of(attr_ibv_td_strategy_t::none), 0);
}

TEST_F(Device, WorksWithoutThreadDomainsOrWithTooFew) {
  EXPECT_EQ(thread_domains_of(attr_ibv_td_strategy_t::per_qp), 0);
  EXPECT_EQ(thread_domains_of(attr_ibv_td_strategy_t::all_qp), 0);
  settings_of_fake().has_thread_domains = true;
  settings_of_fake().max_thread_domains = 3;
  EXPECT_EQ(thread_domains_of(attr_ibv_td_strategy_t::per_qp), 3);
}

TEST_F(Device, WithoutInlineSendsEverythingTravelsInPackets) {
  settings_of_fake().max_inline = 0;
  run(3, {}, [](rank_of_test& self) { talk(self, 3); });
}

TEST_F(Device, FewSendsAskForACompletion) {
  run(2, {}, [](rank_of_test& self) {
    if (self.rank == 0) {
      const fake_counts before = counts_of_fake();
      const uint64_t value = 1;
      for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(self.post(make_send(1, &value, sizeof(value))).is_done());
      }
      const fake_counts after = counts_of_fake();
      EXPECT_GE(after.posted - before.posted, 1000);
      EXPECT_LT(after.signaled - before.signaled, 100);
    } else {
      self.poll_until([&] { return self.count(completion_kind::recv) == 1000; });
    }
    self.barrier();
  });
}

// Operations posted after a wrong one are executed exactly once, and so are those of the other
// side.
TEST_F(Device, AWrongPutFailsAloneAmongManyBothWays) {
  run(2, {}, [](rank_of_test& self) {
    exposed memory(self);
    const int other = 1 - self.rank;
    constexpr size_t puts = 60;
    uint64_t context[puts] = {};
    for (size_t i = 0; i < puts; ++i) {
      memory.words[128 + i] = i + 1;
      op put = memory.put(other, 128 + i, i);
      if (i % 20 == 10) put.remote.key += 1000;  // belongs to no region
      put.context = &context[i];
      ASSERT_TRUE(self.post(put).is_posted());
    }
    self.poll_until([&] {
      return self.count(completion_kind::put) == puts &&
             self.count(completion_kind::remote_put) == puts - 3;
    });
    std::vector<size_t> failed;
    std::vector<size_t> notified;
    for (const completion& c : self.seen) {
      if (c.kind == completion_kind::put && c.failed) {
        failed.push_back(static_cast<size_t>(static_cast<uint64_t*>(c.context) - context));
      }
      if (c.kind == completion_kind::remote_put) notified.push_back(c.imm);
    }
    EXPECT_THAT(failed, ElementsAre(10, 30, 50));
    EXPECT_TRUE(std::is_sorted(notified.begin(), notified.end()));
    EXPECT_EQ(std::adjacent_find(notified.begin(), notified.end()), notified.end())
        << "notified twice";
    for (const size_t i : notified) EXPECT_EQ(memory.words[i], i + 1);
    self.barrier();
    EXPECT_EQ(self.count(completion_kind::peer_failed), 0u);
  });
}

void fail_a_rank(const configuration& config) {
  std::atomic<bool> killed{false};
  run(3, config, [&](rank_of_test& self) {
    exposed memory(self);
    talk(self, 3);
    if (self.rank == 2) {
      kill_fake(self.network.local_port().context.get());
      killed = true;
      self.barrier();
      return;
    }
    while (!killed) self.poll();
    // A put in flight completes, too.
    const error_t posted = self.post(memory.put(2, 0, 0));
    const size_t puts = posted.is_posted() ? 1 : 0;
    self.poll_until([&] {
      return self.count(completion_kind::peer_failed) == 1 &&
             self.count(completion_kind::put) == puts;
    });
    for (const completion& c : self.seen) {
      if (c.kind == completion_kind::peer_failed || c.kind == completion_kind::put) {
        EXPECT_EQ(c.rank, 2);
        EXPECT_EQ(c.failed, c.kind == completion_kind::put);
      }
    }
    const uint64_t value = 1;
    EXPECT_EQ(self.post(make_send(2, &value, 8)).errorcode, errorcode_t::fatal);
    EXPECT_EQ(self.post(memory.put(2, 0, 0)).errorcode, errorcode_t::fatal);
    EXPECT_TRUE(self.post(make_send(1 - self.rank, &value, 8)).is_done());
    self.poll_until([&] { return self.count(completion_kind::recv) == 3 + 1; });
    self.poll_until([&] { return self.dev.drained(); });
    EXPECT_EQ(self.count(completion_kind::peer_failed), 1u);
    self.barrier();
  });
}

TEST_F(Device, AFailedRankIsReportedOnceAndTheOthersContinue) { fail_a_rank({}); }

TEST_F(Device, AFailedRankIsReportedWhereRanksConnectOnDemand) {
  configuration config;
  config.network.ibv_eager_ranks = 0;
  fail_a_rank(config);
}

void learn_of_a_failure(const configuration& config) {
  std::atomic<bool> killed{false};
  run(2, config, [&](rank_of_test& self) {
    self.barrier();
    if (self.rank == 1) {
      kill_fake(self.network.local_port().context.get());
      killed = true;
    } else {
      while (!killed) self.poll();
      self.poll_until([&] { return self.count(completion_kind::peer_failed) == 1; });
      EXPECT_EQ(self.seen.back().rank, 1);
    }
    self.barrier();
  });
}

TEST_F(Device, AnIdleRankLearnsOfAFailure) { learn_of_a_failure({}); }

TEST_F(Device, ASleepingRankLearnsOfAFailure) { learn_of_a_failure(sleeping()); }

// Silences rank 1 while rank 0 sends to it; then rank 0 calls `then`.
void fall_silent(const configuration& config,
                 const std::function<void(rank_of_test&, const ibv_context*)>& then) {
  std::atomic<const ibv_context*> silent{nullptr};
  run(2, config, [&](rank_of_test& self) {
    exposed memory(self);
    talk(self, 2);
    if (self.rank == 1) silent = self.network.local_port().context.get();
    self.barrier();
    if (self.rank == 0) {
      silence_fake(silent, true);
      const uint64_t value = 1;
      ASSERT_TRUE(self.post(make_send(1, &value, sizeof(value))).is_done());
      ASSERT_TRUE(self.post(memory.put(1, 0, 0)).is_posted());
      const int before = counts_of_fake().unanswered;
      self.poll_until([&] { return counts_of_fake().unanswered >= before + 10; });
      EXPECT_EQ(self.count(completion_kind::peer_failed), 0u);
      then(self, silent);
    }
    self.barrier();
    if (self.rank == 0) return;
    // Rank 1 receives the message of rank 0, or learns that it was declared failed.
    self.poll_until([&] {
      return self.count(completion_kind::recv) + self.count(completion_kind::peer_failed) >= 3;
    });
  });
}

TEST_F(Device, ARankThatIsSilentForAWhileHasNotFailed) {
  fall_silent({}, [](rank_of_test& self, const ibv_context* silent) {
    EXPECT_EQ(self.count(completion_kind::put), 0u);
    silence_fake(silent, false);
    self.poll_until([&] { return self.count(completion_kind::put) == 1; });
    // It answers heartbeats again.
    const int before = counts_of_fake().heartbeats;
    self.poll_until([&] { return counts_of_fake().heartbeats >= before + 3; });
    EXPECT_EQ(self.count(completion_kind::peer_failed), 0u);
  });
}

void stay_silent(const configuration& config) {
  fall_silent(config, [](rank_of_test& self, const ibv_context*) {
    self.poll_until([&] { return self.count(completion_kind::peer_failed) == 1; });
    self.poll_until([&] { return self.count(completion_kind::put) == 1; });
    EXPECT_TRUE(self.seen.back().failed);
  });
}

TEST_F(Device, ARankThatStaysSilentHasFailed) { stay_silent({}); }

TEST_F(Device, ASleepingRankDetectsThatAnotherStaysSilent) { stay_silent(sleeping()); }

TEST_F(Device, RanksThatNeverConnectedEndWithoutErrors) {
  configuration config;
  config.network.ibv_eager_ranks = 0;
  settings_of_fake().datagrams_lost = 10;
  run(6, config, [](rank_of_test&) {});
}

TEST_F(Device, AForkedChildTouchesNothing) {
  auto boots = boot::make_in_process_job(1, patience);
  auto network = rdma_context::make_with(fake_verbs(), *boots[0], {});
  ASSERT_TRUE(network.ok());
  auto made = (*network)->make_device({});
  ASSERT_TRUE(made.ok());
  uint64_t word = 0;
  const auto region = (*network)->register_memory(&word, sizeof(word));
  ASSERT_TRUE(region.ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int before = counts_of_fake().objects;
    made->reset();
    network->reset();
    _exit(counts_of_fake().objects == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child destroyed objects of its parent";
  EXPECT_TRUE((*made)->post(make_send(0, &word, sizeof(word))).is_done());
  completion got;
  size_t count = 0;
  for (base::backoff backoff; count == 0; backoff.idle())
    static_cast<void>((*made)->poll(&got, 1, &count));
  EXPECT_EQ(got.kind, completion_kind::recv);
  (*made)->release(got);
  (*network)->deregister_memory(*region);
}

std::string error_of(int ranks, const context_config& config) {
  std::string text;
  auto boots = boot::make_in_process_job(ranks, patience);
  std::vector<std::thread> threads;
  for (auto& boot : boots) {
    threads.emplace_back([&, own = std::move(boot)] {
      const auto network = rdma_context::make_with(fake_verbs(), *own, config);
      if (own->rank() == 0 && !network.ok()) text = std::string(network.status().message());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return text;
}

TEST_F(Device, WithoutARouteTheErrorNamesTheRanks) {
  settings_of_fake().has_routes = false;
  EXPECT_THAT(error_of(2, {}), testing::AllOf(HasSubstr("no route to rank"), HasSubstr("fake0:1")));
}

TEST_F(Device, RanksThatConnectInDifferentWaysSayWhichAttribute) {
  std::string texts[2];
  auto boots = boot::make_in_process_job(2, patience);
  std::vector<std::thread> threads;
  for (auto& boot : boots) {
    threads.emplace_back([&, own = std::move(boot)] {
      context_config config;
      config.ibv_eager_ranks = own->rank() == 0 ? 1 : 2;
      const auto network = rdma_context::make_with(fake_verbs(), *own, config);
      ASSERT_TRUE(network.ok()) << network.status();
      const auto made = (*network)->make_device({});
      texts[own->rank()] = std::string(made.status().message());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts, testing::Each(HasSubstr("ibv_eager_ranks")));
}

TEST_F(Device, TooSmallQueuesAreNamedInTheError) {
  settings_of_fake().max_cqe = 40;
  auto boots = boot::make_in_process_job(1, patience);
  auto network = rdma_context::make_with(fake_verbs(), *boots[0], {});
  ASSERT_TRUE(network.ok());
  const auto made = (*network)->make_device({});
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("net_max_recvs"));
}

struct paged {
  int on_demand;
  std::vector<ibv_advise_mr_advice> advice;
};

paged register_with(attr_ibv_odp_strategy_t odp, attr_ibv_prefetch_strategy_t prefetch) {
  context_config config;
  config.ibv_odp_strategy = odp;
  config.ibv_prefetch_strategy = prefetch;
  auto boots = boot::make_in_process_job(1, patience);
  auto network = rdma_context::make_with(fake_verbs(), *boots[0], config);
  EXPECT_TRUE(network.ok());
  std::vector<char> bytes(10000);
  const auto first = (*network)->register_memory(bytes.data(), bytes.size());
  const auto second = (*network)->register_memory(bytes.data(), 100);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*network)->remote_key(*first).base, reinterpret_cast<uintptr_t>(bytes.data()));
  (*network)->deregister_memory(*first);
  (*network)->deregister_memory(*second);
  const fake_counts counts = counts_of_fake();
  return {counts.registrations_on_demand, counts.advice};
}

TEST_F(Device, PagesOnDemandWhereTheDeviceCan) {
  const auto prefetch = attr_ibv_prefetch_strategy_t::prefetch_write;
  paged got = register_with(attr_ibv_odp_strategy_t::explicit_odp, prefetch);
  EXPECT_EQ(got.on_demand, 0) << "the device has no on-demand paging";
  EXPECT_TRUE(got.advice.empty());
  settings_of_fake().odp_general = IBV_ODP_SUPPORT;
  settings_of_fake().odp_rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  got = register_with(attr_ibv_odp_strategy_t::implicit_odp, prefetch);
  EXPECT_EQ(got.on_demand, 0) << "the device has no implicit on-demand paging";
  got = register_with(attr_ibv_odp_strategy_t::none, prefetch);
  EXPECT_EQ(got.on_demand, 0);
  EXPECT_TRUE(got.advice.empty());
  got = register_with(attr_ibv_odp_strategy_t::explicit_odp, prefetch);
  EXPECT_EQ(got.on_demand, 2);
  EXPECT_THAT(got.advice, ElementsAre(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                                      IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE));
}

TEST_F(Device, AllMemoryIsOneRegistrationIfAskedFor) {
  settings_of_fake().odp_general = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  settings_of_fake().odp_rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  const paged got = register_with(attr_ibv_odp_strategy_t::implicit_odp,
                                  attr_ibv_prefetch_strategy_t::prefetch_no_fault);
  EXPECT_EQ(got.on_demand, 1);
  EXPECT_EQ(got.advice.size(), 2u);
}

}  // namespace
}  // namespace lci::net::ibv
