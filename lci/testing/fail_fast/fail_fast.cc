#include "lci/testing/fail_fast/fail_fast.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "gtest/gtest.h"

namespace lci {
namespace {

std::atomic<int> objects{0};
std::atomic<bool> has_failed{false};

// Only calls that a signal handler may make.
void end_process(int) {
  constexpr char text[] =
      "fail_fast: an assertion of one rank has failed (see above), and after 2 s the ranks still "
      "wait for each other; the process ends.\n";
  static_assert(fail_fast::grace_seconds == 2, "the text names it");
  if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) _exit(2);
  std::abort();
}

class failure_listener final : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed() || objects.load() == 0 || has_failed.exchange(true)) return;
    std::signal(SIGALRM, end_process);
    alarm(fail_fast::grace_seconds);
  }
};

}  // namespace

fail_fast::fail_fast() {
  // GoogleTest deletes the listener at its own end.
  static const bool is_listening = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new failure_listener);
    return true;
  }();
  static_cast<void>(is_listening);
  objects.fetch_add(1);
}

fail_fast::~fail_fast() {
  if (objects.fetch_sub(1) == 1 && has_failed.exchange(false)) alarm(0);
}

}  // namespace lci
