// Ends a test of several ranks soon after one of them has failed.
#ifndef LCI_TESTING_FAIL_FAST_FAIL_FAST_H_
#define LCI_TESTING_FAIL_FAST_FAIL_FAST_H_

namespace lci {

// A rank whose assertion fails often leaves the others waiting for messages that never come, and
// the test would end minutes later, by Bazel's timeout. While an object of this class exists, the
// first failed assertion of any thread starts a countdown of `grace_seconds`. The process is
// aborted (SIGABRT) unless the last object is destroyed before the end of the countdown. GoogleTest
// has printed the assertion by then. The remaining tests of the process do not run.
//
// The time matters only to a test that has failed: one that passes may take as long as it likes.
// A process that a test forks has the countdown of its own failures.
//
// Uses SIGALRM and alarm(). Thread safety: made and destroyed while no other thread fails.
class fail_fast {
 public:
  static constexpr unsigned grace_seconds = 2;

  fail_fast();
  ~fail_fast();
  fail_fast(const fail_fast&) = delete;
  fail_fast& operator=(const fail_fast&) = delete;
};

}  // namespace lci

#endif  // LCI_TESTING_FAIL_FAST_FAIL_FAST_H_
