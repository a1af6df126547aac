// Files that are damaged: each gets an error that says where, and none stops the reader.
#include "lci/observe/recording.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/observe/recorder.h"

namespace lci::observe {
namespace {

using testing::HasSubstr;

constexpr uint32_t events = min_events_per_ring;
constexpr size_t slots = recording_header_size + sizeof(ring_header);

std::string contents(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

// The file of a rank whose only thread has recorded so many events.
std::string file_with(uint64_t recorded) {
  recorder_options options;
  options.rank = 1;
  options.ranks = 3;
  options.job = "file";
  options.directory = testing::TempDir();
  options.events_per_thread = events;
  auto made = recorder::make(options);
  if (!made.ok()) {
    ADD_FAILURE() << made.status();
    return "";
  }
  event each;
  each.kind = event_kind::post;
  each.form = wire_form::tagged;
  each.peer = 2;
  for (uint64_t i = 0; i < recorded; ++i) {
    each.sequence = i;
    (*made)->add(each);
  }
  return contents((*made)->path());
}

std::string error_of(const std::string& bytes) {
  const auto read = decode_recording(bytes, bytes);
  return read.ok() ? "" : std::string(read.status().message());
}

template <class T>
void put(std::string* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// Writes the sum of the header again: for what the sum does not find.
void sign(std::string* bytes) {
  put(bytes, offsetof(recording_identity, sum),
      sum_of(bytes->data(), offsetof(recording_identity, sum)));
}

TEST(Recording, OfAWholeFileHasNoError) {
  for (const uint64_t recorded :
       {uint64_t{0}, uint64_t{1}, uint64_t{events}, uint64_t{3 * events + 7}}) {
    EXPECT_EQ(error_of(file_with(recorded)), "") << recorded;
  }
}

TEST(Recording, OfAnotherFileIsRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("no recording of LCI, or cut off: 0 bytes"));
  EXPECT_THAT(error_of(std::string(5000, 'x')), HasSubstr("does not begin with"));
  const auto missing = read_recording("/nonexistent");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/nonexistent: No such file"));
  const auto directory = read_recording("/");
  ASSERT_FALSE(directory.ok());
  EXPECT_THAT(std::string(directory.status().message()), HasSubstr("no regular file"));
}

TEST(Recording, OfAnotherVersionIsRefused) {
  std::string bytes = file_with(3);
  put(&bytes, offsetof(recording_identity, version), uint32_t{7});
  EXPECT_EQ(error_of(bytes), "it is a recording of version 7; this program reads version 1");
}

TEST(Recording, EveryLengthThatIsCutOffIsAnError) {
  const std::string bytes = file_with(events + 5);
  for (size_t size = 0; size < bytes.size(); size += 13) {
    EXPECT_NE(error_of(bytes.substr(0, size)), "") << size;
  }
  EXPECT_THAT(error_of(bytes.substr(0, bytes.size() - 1)), HasSubstr("it ends here"));
}

// One bit, anywhere but in the free members of an event.
TEST(Recording, EveryBitOfTheHeadersCounts) {
  const std::string whole = file_with(events + 5);
  for (size_t at = 0; at < slots; ++at) {
    // The number of threads without a ring may be any, and a set of reasons any set.
    if (at >= offsetof(recording_header, state) && at < sizeof(recording_header)) continue;
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    EXPECT_NE(error_of(bytes), "") << at;
  }
}

TEST(Recording, AHeaderWithARightSumButWrongMembersIsRefused) {
  const auto with = [](size_t at, auto value) {
    std::string bytes = file_with(3);
    put(&bytes, at, value);
    sign(&bytes);
    return error_of(bytes);
  };
  EXPECT_THAT(with(offsetof(recording_identity, events_per_ring), uint32_t{65}),
              HasSubstr("65 events per thread"));
  EXPECT_THAT(with(offsetof(recording_identity, events_per_ring), uint32_t{1} << 31),
              HasSubstr("events per thread"));
  EXPECT_THAT(with(offsetof(recording_identity, rank), int32_t{3}), HasSubstr("rank 3 of 3"));
  EXPECT_THAT(with(offsetof(recording_identity, pid), int64_t{-1}), HasSubstr("pid -1"));
  EXPECT_THAT(with(offsetof(recording_identity, host), uint32_t{0x0a0a}), HasSubstr("no text"));
  EXPECT_THAT(with(offsetof(recording_header, state), uint32_t{1} << 30), HasSubstr("threads"));
  EXPECT_THAT(with(offsetof(recording_header, state) + 8, uint32_t{0x100}),
              HasSubstr("unknown state"));
}

TEST(Recording, WrongEventsAreRefused) {
  const auto with = [](uint64_t recorded, size_t at, auto value) {
    std::string bytes = file_with(recorded);
    put(&bytes, slots + at, value);
    return error_of(bytes);
  };
  EXPECT_THAT(with(10, 4 * event_size, uint64_t{6}), HasSubstr("event 6 is in slot 4"));
  EXPECT_THAT(with(10, 4 * event_size, uint64_t{5 + events}),
              HasSubstr("event 1 is in the place of 65"));
  EXPECT_THAT(with(3 * events, 4 * event_size, uint64_t{5}),
              HasSubstr("event 5 is in the place of"));
  EXPECT_THAT(with(10, 4 * event_size, ~uint64_t{0} - events + 1 + 4),
              HasSubstr("it numbers an event"));
  EXPECT_THAT(with(10, 4 * event_size + 20, uint8_t{200}),
              HasSubstr("event 5 is of an unknown kind"));
  EXPECT_THAT(with(10, 4 * event_size + 24, uint32_t{3}), HasSubstr("a rank that the job has not"));
  EXPECT_THAT(with(10, 20 * event_size + 8, uint64_t{1}), HasSubstr("behind the last event"));
}

TEST(Recording, AnEventThatWasBeingWrittenIsMissing) {
  for (const uint64_t recorded : {uint64_t{10}, uint64_t{events}, uint64_t{3 * events + 5}}) {
    std::string bytes = file_with(recorded);
    const size_t next = slots + recorded % events * event_size;
    put(&bytes, next, uint64_t{0});
    put(&bytes, next + 16, ~uint64_t{0});
    const auto read = decode_recording(bytes, bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    const recorded_thread& thread = read->threads.at(0);
    EXPECT_EQ(thread.missing, recorded < events ? 0u : 1u);
    EXPECT_EQ(thread.events.size(), recorded < events ? recorded : events - 1);
    EXPECT_EQ(thread.events.back().sequence, recorded - 1);
    // A second one is not what a thread leaves.
    put(&bytes, slots + 3 * event_size, uint64_t{0});
    put(&bytes, slots + 4 * event_size, uint64_t{0});
    EXPECT_THAT(error_of(bytes), HasSubstr("are not whole")) << recorded;
  }
}

TEST(Recording, EventsThatDifferBetweenTheCopiesAreMissing) {
  const std::string first = file_with(3 * events);
  std::string second = first;
  put(&second, slots + 7 * event_size + 40, uint64_t{1234});
  auto read = decode_recording(first, second);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->threads.at(0).missing, 1u);
  EXPECT_EQ(read->threads.at(0).events.size(), events - 1);
  // The thread has come around between the copies, and then again during the second one.
  put(&second, slots + 7 * event_size, uint64_t{5 * events + 8});
  read = decode_recording(first, second);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->threads.at(0).events.empty());
}

// As in a fuzzer, the reader answers for any bytes.
TEST(Recording, RandomDamageNeverStopsTheReader) {
  const std::string whole = file_with(2 * events + 9);
  std::mt19937_64 random(20261123);
  int errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    const uint64_t changes = 1 + random() % 8;
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
          break;
        case 2:
          bytes.resize(at);
          break;
        default:
          if (at + 8 <= bytes.size()) put(&bytes, at, uint64_t{random()});
      }
      if (bytes.empty()) break;
    }
    // Half of them with a right sum, so that what lies behind it is read.
    if (random() % 2 == 0 && bytes.size() >= sizeof(recording_identity)) sign(&bytes);
    const auto alone = decode_recording(bytes, bytes);
    const auto changed = decode_recording(whole, bytes);
    const auto other = decode_recording(bytes, whole);
    errors += !alone.ok() + !changed.ok() + !other.ok();
    for (const auto* each : {&alone, &changed, &other}) {
      if (!each->ok()) continue;
      for (const recorded_thread& thread : (*each)->threads) {
        ASSERT_LE(thread.events.size(), size_t{(*each)->events_per_thread});
      }
    }
  }
  EXPECT_GT(errors, 10000);
}

}  // namespace
}  // namespace lci::observe
