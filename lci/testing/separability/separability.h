// Tests that two threads with a device each write no common memory: the separability of Ibrahim and
// Yelick, "On the Conditions for Efficient Interoperability with Threads" (ICS'14), section 4. The
// tests watch all memory that a thread writes and count its instructions. The test of a network
// instantiates them:
//   INSTANTIATE_TEST_SUITE_P(Shm, Separability, all_work_over({...}), name_of);
//
// The buffers of large operations, puts and gets are registered, and the operations name the
// registration. Without the name, and where the network needs a registration, the operation would
// search the table of its net context, which all devices share under a lock.
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
  // A library moves the bytes. Its own instructions are not counted, and of the program's those of
  // the shortest round: the kernel decides how often a thread polls for a message.
  bool has_library = false;
  // That library writes common lines in both threads, which the output of the test names. Even then
  // it may not write, in one thread, a line that the program writes in the other one.
  bool library_shares = false;
};

struct work;

struct parameter {
  network transport;
  const work* what;
};

class Separability : public testing::TestWithParam<parameter> {
 protected:
  void SetUp() override;
};

// Prints the name of the test.
std::ostream& operator<<(std::ostream& to, const parameter& one);

std::vector<parameter> all_work_over(const std::vector<network>& networks);
std::string name_of(const testing::TestParamInfo<parameter>& info);

}  // namespace lci::separability

#endif  // LCI_TESTING_SEPARABILITY_SEPARABILITY_H_
