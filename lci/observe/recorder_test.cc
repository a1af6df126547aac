// The output of a recorder as a reader finds it: while threads write, and after the rank was
// killed.
#include "lci/observe/recorder.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/observe/recording.h"

namespace lci::observe {
namespace {

recorder_options options_of(const std::string& job) {
  recorder_options options;
  options.rank = 2;
  options.ranks = 5;
  options.job = job;
  options.directory = testing::TempDir();
  options.events_per_thread = min_events_per_ring;
  return options;
}

std::unique_ptr<recorder> make(const recorder_options& options) {
  auto made = recorder::make(options);
  if (!made.ok()) ADD_FAILURE() << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

recording read(const std::string& path) {
  auto found = read_recording(path);
  if (!found.ok()) ADD_FAILURE() << found.status();
  return found.ok() ? *found : recording();
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// All members follow from the number, so that a mixture of two events is found.
event numbered(uint64_t number) {
  event made;
  made.kind = event_kind::arrival;
  made.time = number;
  made.duration = static_cast<uint32_t>(number);
  made.operation = static_cast<uint32_t>(number);
  made.size = number & event::max_size;
  made.tag = number;
  made.sequence = number;
  made.detail = number;
  return made;
}

// The events of the only thread are numbered(n), each of its own number. Returns how many.
uint64_t check_numbered(const recording& found) {
  if (found.threads.empty()) return 0;
  EXPECT_EQ(found.threads.size(), 1u);
  const recorded_thread& thread = found.threads[0];
  uint64_t least = thread.first;
  for (const event& each : thread.events) {
    EXPECT_EQ(each, numbered(each.sequence));
    EXPECT_GE(each.sequence, least);
    least = each.sequence + 1;
  }
  EXPECT_LE(thread.events.size() + thread.missing, found.events_per_thread);
  return thread.events.size();
}

TEST(Recorder, KeepsTheLastEventsOfEachThread) {
  const auto recorder = make(options_of("last"));
  constexpr uint64_t events = 3 * min_events_per_ring + 5;
  const auto write = [&recorder](uint64_t from) {
    for (uint64_t i = 0; i < events; ++i) recorder->add(numbered(from + i));
  };
  write(1);
  // While this thread keeps its number.
  std::thread(write, 1000000).join();
  const recording found = read(recorder->path());
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.ranks, 5);
  EXPECT_EQ(found.pid, getpid());
  EXPECT_EQ(found.job, "last");
  EXPECT_FALSE(found.clock.empty());
  EXPECT_FALSE(found.has_ended);
  EXPECT_TRUE(found.is_running);
  EXPECT_EQ(found.unrecorded_threads, 0u);
  ASSERT_EQ(found.threads.size(), 2u);
  for (const recorded_thread& thread : found.threads) {
    const uint64_t base = thread.tid == static_cast<uint32_t>(getpid()) ? 1 : 1000000;
    EXPECT_EQ(thread.missing, 0u);
    EXPECT_EQ(thread.first, events - min_events_per_ring + 1);
    ASSERT_EQ(thread.events.size(), min_events_per_ring);
    for (size_t i = 0; i < thread.events.size(); ++i) {
      EXPECT_EQ(thread.events[i], numbered(base + events - min_events_per_ring + i));
    }
  }
}

TEST(Recorder, FewerEventsThanThereIsRoomForAreAllThere) {
  const auto recorder = make(options_of("few"));
  EXPECT_TRUE(read(recorder->path()).threads.empty());
  for (uint64_t i = 1; i <= min_events_per_ring; ++i) {
    recorder->add(numbered(i));
    const recording found = read(recorder->path());
    ASSERT_EQ(check_numbered(found), i);
    EXPECT_EQ(found.threads[0].missing, 0u);
  }
}

TEST(Recorder, RemovesItsFileUnlessItIsToBeKept) {
  auto recorder = make(options_of("end"));
  const std::string path = recorder->path();
  struct stat found = {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  recorder.reset();
  EXPECT_FALSE(exists(path));

  recorder = make(options_of("end"));
  EXPECT_TRUE(recorder->keep(keep_peer_lost));
  EXPECT_FALSE(recorder->keep(keep_report));
  recorder->add(numbered(1));
  recorder.reset();
  const recording kept = read(path);
  EXPECT_TRUE(kept.has_ended);
  EXPECT_FALSE(kept.is_running);
  EXPECT_EQ(kept.keep_reasons, static_cast<uint32_t>(keep_peer_lost | keep_report));
  EXPECT_EQ(check_numbered(kept), 1u);

  recorder_options always = options_of("end");
  always.keep = true;
  make(always).reset();
  EXPECT_EQ(read(path).keep_reasons, static_cast<uint32_t>(keep_wanted));
  unlink(path.c_str());
}

TEST(Recorder, SaysWhichFileItCannotMake) {
  recorder_options nowhere = options_of("job");
  nowhere.directory = "/nonexistent";
  const auto made = recorder::make(nowhere);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("/nonexistent/lci-job.2.lcirec"), std::string::npos)
      << made.status();
}

TEST(Recorder, AThreadThatGoesOnInTheRingOfAnEndedOneIsRecorded) {
  const auto recorder = make(options_of("again"));
  // Two threads that are never alive at one time have the same number.
  std::thread([&recorder] { recorder->add(numbered(1)); }).join();
  std::thread([&recorder] { recorder->add(numbered(2)); }).join();
  EXPECT_EQ(check_numbered(read(recorder->path())), 2u);
}

TEST(Recorder, ManyThreadsBeginAtOnceWhileAReaderLooks) {
  const auto recorder = make(options_of("begin"));
  constexpr int threads = 16;
  std::atomic<int> begun{0};
  std::atomic<int> recorded{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&recorder, &begun, &recorded] {
      ++begun;
      while (begun.load() < threads) std::this_thread::yield();
      recorder->add(numbered(1));
      // Until all have begun: a thread that ends gives its number to the next one.
      ++recorded;
      while (recorded.load() < threads) std::this_thread::yield();
    });
  }
  size_t seen = 0;
  while (seen < threads) {
    const recording found = read(recorder->path());
    EXPECT_GE(found.threads.size(), seen);
    seen = found.threads.size();
    if (testing::Test::HasFailure()) break;
  }
  for (std::thread& each : all) each.join();
  const recording found = read(recorder->path());
  ASSERT_EQ(found.threads.size(), static_cast<size_t>(threads));
  for (const recorded_thread& thread : found.threads) EXPECT_EQ(thread.events.size(), 1u);
}

TEST(Recorder, AReaderFindsOnlyWholeEventsWhileAThreadWrites) {
  const auto recorder = make(options_of("race"));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) recorder->add(numbered(i));
  });
  uint64_t found = 0;
  for (int i = 0; i < 2000 || found == 0; ++i) {
    found += check_numbered(read(recorder->path()));
    if (testing::Test::HasFailure()) break;
  }
  stop = true;
  writer.join();
}

// A child that writes as fast as it can is killed at some moment: its last event may be torn, all
// before it are there.
TEST(Recorder, TheFileOfAKilledRankHasItsLastEvents) {
  for (int round = 0; round < 100; ++round) {
    const recorder_options options = options_of("killed");
    const std::string path = options.directory + "/lci-killed.2.lcirec";
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto made = recorder::make(options);
      if (!made.ok()) _exit(1);
      for (uint64_t i = 1;; ++i) {
        (*made)->add(numbered(i));
        if (i == 1000 && write(ready[1], "", 1) != 1) _exit(1);
      }
    }
    close(ready[1]);
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    close(ready[0]);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const recording found = read(path);
    EXPECT_FALSE(found.has_ended);
    EXPECT_FALSE(found.is_running);
    EXPECT_EQ(found.pid, child);
    ASSERT_GE(check_numbered(found), uint64_t{min_events_per_ring - 1});
    EXPECT_LE(found.threads[0].missing, 1u);
    EXPECT_GE(found.threads[0].events.back().sequence, 1000u);
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
}

}  // namespace
}  // namespace lci::observe
