#include "lci/testing/conformance/suite.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/base/check.h"
#include "lci/base/strings.h"
#include "lci/boot/in_process.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/fail_fast/fail_fast.h"
#include "lci/testing/job/test_job.h"

namespace lci::net::conformance {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);

namespace {

// What the ranks of a test tell the test. In memory that its processes share.
struct rank_reports {
  std::atomic<int> skipped;         // the ranks that called skip()
  std::atomic<const char*> reason;  // valid here: ranks are forked from this process
  std::atomic<bool> has_failure;    // an expectation of a process has failed
};

rank_reports& reports() {
  static rank_reports* const shared = [] {
    void* const memory = ::mmap(nullptr, sizeof(rank_reports), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    LCI_CHECK(memory != MAP_FAILED, "mmap");
    return new (memory) rank_reports();
  }();
  return *shared;
}

// Called before the ranks run.
void clear_reports() {
  reports().skipped = 0;
  reports().has_failure = false;
}

// Called after all ranks have run.
void skip_if_ranks_have(int ranks) {
  const int count = reports().skipped.load();
  if (count == 0) return;
  EXPECT_EQ(count, ranks) << "some ranks, but not all, skipped the test: "
                          << reports().reason.load();
  if (count == ranks) GTEST_SKIP() << reports().reason.load();
}

class failure_reporter final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) reports().has_failure = true;
  }
};

}  // namespace

void rank_under_test::skip(const char* reason) {
  reports().reason = reason;
  ++reports().skipped;
}

std::string rank_under_test::label() const { return base::StrCat("rank ", rank, " of ", ranks); }

void rank_under_test::barrier() {
  const base::Status met = boot.barrier("barrier-" + std::to_string(barriers++), patience);
  ASSERT_TRUE(met.ok()) << label() << ": " << met;
}

void rank_under_test::exchange(const void* mine, size_t size, void* all) {
  const auto contributions =
      boot.allgather("exchange-" + std::to_string(exchanges++),
                     std::string_view(static_cast<const char*>(mine), size), patience);
  ASSERT_TRUE(contributions.ok()) << contributions.status();
  for (size_t r = 0; r < contributions->size(); ++r) {
    ASSERT_EQ((*contributions)[r].size(), size);
    std::memcpy(static_cast<char*>(all) + r * size, (*contributions)[r].data(), size);
  }
}

void rank_under_test::polling_barrier(const std::function<void(const completion&)>& use) {
  std::atomic<bool> is_over{false};
  std::thread waiting([&] {
    barrier();
    is_over = true;
  });
  poll_until([&] { return is_over.load(); }, use);
  waiting.join();
}

void rank_under_test::poll_until(const std::function<bool()>& done,
                                 const std::function<void(const completion&)>& use) {
  base::backoff backoff;
  auto last = std::chrono::steady_clock::now();
  for (uint32_t polls = 0; !done(); ++polls) {
    completion completions[8];
    size_t count = 0;
    // Glances replace as many polls as they may.
    const bool glance = polls % device::polls_per_look != 0 && dev.seems_idle();
    const error_t result = glance ? error_t(errorcode_t::retry) : dev.poll(completions, 8, &count);
    ASSERT_TRUE(result.is_done() || result.is_retry()) << label() << ": " << result.get_str();
    ASSERT_LE(count, 8u);
    if (result.is_done()) {
      last = std::chrono::steady_clock::now();
    } else {
      ASSERT_EQ(count, 0u);
      backoff.idle();
      ASSERT_FALSE(std::chrono::steady_clock::now() - last > longest_silence)
          << label() << " waits, and no completion has come for " << longest_silence.count()
          << " s";
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
  int received = 0;
  const auto receive = [&](const completion& c) {
    received += c.kind == completion_kind::recv ? 1 : 0;
  };
  for (int to = 0; to < ranks; ++to) {
    ASSERT_TRUE(post(make_send(to, nullptr, 0, 0), receive).is_done());
  }
  poll_until([&] { return received == ranks && dev.drained(); }, receive);
  barrier();  // a rank that polled now would take later messages of faster ranks
}

namespace {

void run_rank(boot::bootstrap& boot, const backend_entry& backend, bool barrier_at_end,
              const std::function<void(rank_under_test&)>& body) {
  auto network = backend.make(boot, Conformance::GetParam().config);
  ASSERT_TRUE(network.ok()) << network.status();
  device_config config;
  config.max_message = max_message;
  config.attr = Conformance::GetParam().device;
  auto made = (*network)->make_device(config);
  ASSERT_TRUE(made.ok()) << made.status();
  rank_under_test rank{boot.rank(), boot.size(), boot, **network, **made};
  const testing::ScopedTrace trace(__FILE__, __LINE__, rank.label());
  body(rank);
  if (!barrier_at_end) return;
  // Others may still wait for what this rank has sent.
  rank.poll_until([&] { return rank.dev.drained(); }, ignore);
  rank.barrier();
}

}  // namespace

void Conformance::run(const std::function<void(rank_under_test&)>& body) {
  const backend_under_test& param = GetParam();
  if (param.processes) {
    run_processes(0, body);
    return;
  }
  ASSERT_TRUE(param.entry->available());
  clear_reports();
  const fail_fast guard;
  auto boots = boot::make_in_process_job(param.ranks, patience);
  std::vector<std::thread> threads;
  for (auto& boot : boots) {
    threads.emplace_back([&body, &param, own = std::move(boot)] {
      run_rank(*own, *param.entry, /*barrier_at_end=*/true, body);
    });
  }
  for (std::thread& thread : threads) thread.join();
  skip_if_ranks_have(param.ranks);
}

void Conformance::run_processes(int victims, const std::function<void(rank_under_test&)>& body) {
  const backend_under_test& param = GetParam();
  ASSERT_TRUE(param.entry->available());
  clear_reports();
  boot::test_job job(boot::test_job::variant::file, param.ranks);
  const int lost = job.run_processes([&](int rank) {
    testing::UnitTest::GetInstance()->listeners().Append(new failure_reporter());
    auto boot = job.connect(rank, patience);
    EXPECT_TRUE(boot.ok()) << boot.status();
    if (boot.ok()) run_rank(**boot, *param.entry, /*barrier_at_end=*/victims == 0, body);
    return !HasFailure();
  });
  if (reports().has_failure) {
    ADD_FAILURE() << "a rank has failed, as said above";
  } else {
    EXPECT_EQ(lost, victims) << "the ranks that have ended by a signal or with an error";
  }
  skip_if_ranks_have(param.ranks);
}

}  // namespace lci::net::conformance

namespace lci::net {

void PrintTo(completion_kind kind, std::ostream* out) {
  constexpr const char* names[] = {"send", "put", "get", "recv", "remote_put", "peer_failed"};
  const auto index = static_cast<size_t>(kind);
  *out << (index < std::size(names) ? names[index] : "unknown");
}

}  // namespace lci::net
