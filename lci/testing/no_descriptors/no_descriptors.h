// For tests of what happens when a process has no descriptor left.
#ifndef LCI_TESTING_NO_DESCRIPTORS_NO_DESCRIPTORS_H_
#define LCI_TESTING_NO_DESCRIPTORS_NO_DESCRIPTORS_H_

#include <sys/resource.h>

#include "gtest/gtest.h"

namespace lci {

// Takes all descriptors from this process while it lives. Those that are open stay so.
class no_descriptors {
 public:
  no_descriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &old_), 0);
    rlimit none = old_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~no_descriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &old_), 0); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  rlimit old_ = {};
};

}  // namespace lci

#endif  // LCI_TESTING_NO_DESCRIPTORS_NO_DESCRIPTORS_H_
