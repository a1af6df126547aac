// Two threads on two devices have nothing in common: the separability of Ibrahim and Yelick, "On
// the Conditions for Efficient Interoperability with Threads" (ICS'14), section 4. All memory that
// one of them writes is watched, and each of its instructions is counted. A network's own test says
// which it is:
//   INSTANTIATE_TEST_SUITE_P(Shm, Separability, all_work_over({...}), name_of);
//
// The buffers of large operations and of puts and gets are registered, and the operations name the
// registration: where a network wants one, an operation that names none looks in the table of its
// net context, which all devices share and which has a lock.
#ifndef LCI_TESTING_SEPARABILITY_SEPARABILITY_H_
#define LCI_TESTING_SEPARABILITY_SEPARABILITY_H_

#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"

namespace lci::separability {

struct network {
  const char* name;
  attr_backend_t backend;
  std::string provider = {};  // of libfabric
  // A library moves the bytes. Its own instructions are not counted, and of ours those of the
  // shortest round: how often a message is looked for is the kernel's doing.
  bool has_library = false;
  // That library writes lines in both threads. They are named in the test's output; to a line that
  // we write it may not write in the other thread even then.
  bool library_shares = false;
};

struct work;

struct parameter {
  network over;
  const work* what;
};

class Separability : public testing::TestWithParam<parameter> {
 protected:
  void SetUp() override;
};

// Its name.
std::ostream& operator<<(std::ostream& to, const parameter& one);

std::vector<parameter> all_work_over(const std::vector<network>& networks);
std::string name_of(const testing::TestParamInfo<parameter>& info);

}  // namespace lci::separability

#endif  // LCI_TESTING_SEPARABILITY_SEPARABILITY_H_
