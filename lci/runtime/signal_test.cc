// Signals: counted, tested, reset, and what goes wrong with them.
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// The text of the exception that `act` throws.
template <class Exception, class Act>
std::string text_of(const Act& act) {
  try {
    act();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::string();
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST(EventCounter, IsZeroOnlyWhenAllEventsAndAllTheirPartsHaveCome) {
  for (int event_bits : {2, 8, 32, 40}) {
    for (int64_t events : {int64_t{1}, int64_t{3}}) {
      rt::event_counter::word word;
      rt::event_counter counter(&word, events, event_bits);
      // The first message in three parts, the one that says so in any place; then the rest.
      for (size_t place = 0; place < 3; ++place) {
        for (size_t i = 0; i < 3; ++i) {
          EXPECT_NE(counter.get(), 0);
          EXPECT_FALSE(counter.is_bad(counter.get()));
          counter.add(i == place ? 3 : 1);
          EXPECT_EQ(counter.missing_events(counter.get()), events - (i >= place ? 1 : 0));
          EXPECT_EQ(counter.missing_parts(counter.get()),
                    i >= place ? 2 - static_cast<int64_t>(i) : -1 - static_cast<int64_t>(i));
        }
        for (int64_t more = 1; more < events; ++more) {
          EXPECT_FALSE(counter.reset());
          counter.add(0);
        }
        EXPECT_EQ(counter.get(), 0);
        EXPECT_TRUE(counter.reset());
      }
    }
  }
}

TEST(EventCounter, ShowsThatThereWereTooMany) {
  for (int event_bits : {1, 2, 8, 40}) {
    rt::event_counter::word word;
    rt::event_counter counter(&word, 1, event_bits);
    counter.add(0);
    for (int64_t extra = 1; extra <= 2; ++extra) {
      counter.add(0);
      EXPECT_TRUE(counter.is_bad(counter.get()));
      EXPECT_EQ(counter.missing_events(counter.get()), -extra);
      EXPECT_EQ(counter.missing_parts(counter.get()), 0);
    }
  }
}

TEST(Signal, CountsWhateverSignalsACompletionObject) {
  run(2, [](rank_under_test& self) {
    comp_t signal = alloc_signal_x(3).runtime(self.runtime).name("three")();
    EXPECT_EQ(signal.get_attr_comp_type(), attr_comp_type_t::signal);
    EXPECT_EQ(signal.get_attr_signal_num_event(), 3);
    const rcomp_t rcomp = register_rcomp_x(signal).runtime(self.runtime)();
    self.meet();
    const auto greatest = less_if_simulated<size_t>(20000, greatest_size());
    auto bytes = make_message(self.rank, 1, greatest);
    std::vector<unsigned char> room(bytes.size());
    for (int round = 0; round < 3; ++round) {
      EXPECT_FALSE(signal_test_x(signal).runtime(self.runtime)());
      EXPECT_EQ(signal_missing_x(signal).runtime(self.runtime)(), 3);
      self.meet();
      // Its own operations', and the peer's message.
      const auto count = [&](auto op) {
        const status_t status = accepted(op.runtime(self.runtime).allow_done(false));
        EXPECT_TRUE(status.is_posted());
      };
      count(post_recv_x(self.from, room.data(), room.size(), 1, signal));
      count(post_send_x(self.to, bytes.data(), bytes.size(), 1, signal));
      static_cast<void>(accepted(
          post_am_x(self.to, bytes.data(), 8, COMP_NULL_RETRY, rcomp).runtime(self.runtime)));
      signal_wait_x(signal).runtime(self.runtime)();
      EXPECT_EQ(room, make_message(self.from, 1, greatest));
      EXPECT_TRUE(signal_test_x(signal).runtime(self.runtime)());
      self.meet();
      signal_reset_x(signal).runtime(self.runtime)();
      self.meet();
    }
    deregister_rcomp_x(rcomp).runtime(self.runtime)();
    free_comp_x{&signal}.runtime(self.runtime)();
  });
}

TEST(Signal, MistakesAreNamed) {
  run(1, [](rank_under_test& self) {
    const auto alloc = [&](int64_t events) {
      return alloc_signal_x(events).runtime(self.runtime).signal_nbits_event(4).name("halo");
    };
    EXPECT_THROW(alloc(0)(), std::invalid_argument);
    EXPECT_THROW(alloc(16)(), std::invalid_argument);
    EXPECT_THROW(alloc(1).signal_nbits_event(41)(), std::invalid_argument);
    expect_words(
        text_of<std::invalid_argument>([&] { signal_test_x(self.sync).runtime(self.runtime)(); }),
        {"signal_test:", " is a synchronizer, not a signal"});
    EXPECT_THROW(signal_wait_x(COMP_NULL).runtime(self.runtime)(), std::invalid_argument);

    comp_t signal = alloc(2)();
    const auto event = [&](errorcode_t code) {
      status_t status(code);
      status.rank = 0;
      comp_signal_x(signal, status).runtime(self.runtime)();
    };
    const auto test = [&] { signal_test_x(signal).runtime(self.runtime)(); };
    const auto wait = [&] { signal_wait_x(signal).runtime(self.runtime)(); };
    const auto reset = [&] { signal_reset_x(signal).runtime(self.runtime)(); };
    event(errorcode_t::done);
    expect_words(text_of<std::logic_error>(reset),
                 {"signal_reset", "\"halo\" of rank 0", "1 of 2 events is missing"});
    event(errorcode_t::done);
    wait();  // what was refused has changed nothing
    event(errorcode_t::done);
    for (const std::string& text :
         {text_of<std::logic_error>(test), text_of<std::logic_error>(wait),
          text_of<std::logic_error>(reset)}) {
      expect_words(text, {"\"halo\" of rank 0", "of 2 events promised 3 have come"});
    }
    expect_words(text_of<std::logic_error>(test), {"signal_test:"});
    expect_words(text_of<std::logic_error>(wait), {"signal_wait:"});
    free_comp_x{&signal}.runtime(self.runtime)();
    signal = alloc(2)();
    event(errorcode_t::fatal);
    event(errorcode_t::done);
    for (const std::string& text :
         {text_of<std::runtime_error>(test), text_of<std::runtime_error>(wait),
          text_of<std::runtime_error>(reset)}) {
      expect_words(text, {"\"halo\" of rank 0", "an operation with rank 0 has failed"});
    }
    EXPECT_NE(self.runtime.p_impl->left_over().find("1 signal"), std::string::npos);
    comp_t again = signal;
    free_comp_x{&signal}.runtime(self.runtime)();
    expect_words(
        text_of<std::invalid_argument>([&] { signal_test_x(again).runtime(self.runtime)(); }),
        {"freed"});
    EXPECT_EQ(self.runtime.p_impl->left_over(), "");
  });
}

// Standard error goes to a file as long as it exists.
class captured_stderr {
 public:
  captured_stderr() : file_(std::tmpfile()), before_(dup(STDERR_FILENO)) {
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~captured_stderr() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::fclose(file_);
  }
  // The part of it that is read, from the beginning.
  std::string text() const {
    char bytes[4096];
    const ssize_t n = pread(fileno(file_), bytes, sizeof(bytes), 0);
    return std::string(bytes, n > 0 ? static_cast<size_t>(n) : 0);
  }

 private:
  std::FILE* const file_;
  const int before_;
};

TEST(Signal, ALongWaitSaysWhatIsMissing) {
  runtime_attr_t attr;
  attr.signal_patience = 1;
  const captured_stderr log;
  run(
      1,
      [&log](rank_under_test& self) {
        comp_t signal = alloc_signal_x(2).runtime(self.runtime).name("late")();
        comp_signal_x(signal, status_t(errorcode_t::done)).runtime(self.runtime)();
        end_turns();
        std::thread other([&] {
          while (log.text().find("\"late\" of rank 0: 1 of 2 events is missing") ==
                 std::string::npos) {
            std::this_thread::yield();
          }
          comp_signal_x(signal, status_t(errorcode_t::done)).runtime(self.runtime)();
        });
        signal_wait_x(signal).runtime(self.runtime)();
        other.join();
        free_comp_x{&signal}.runtime(self.runtime)();
      },
      global_attr_t(), attr);
}

}  // namespace
}  // namespace lci
