// Two threads on two devices have nothing in common: the separability of Ibrahim and Yelick, "On
// the Conditions for Efficient Interoperability with Threads" (ICS'14), section 4. All memory that
// one of them writes is watched, and each of its instructions is counted. A network's own test says
// which it is:
//   INSTANTIATE_TEST_SUITE_P(Shm, Separability, all_work_over({...}), name_of);
//
// The buffers of large operations and of puts and gets are registered, and the operations name the
// registration: where a network wants one, an operation that names none looks in the table of its
// net context, which all devices share and which has a lock.
#ifndef LCI_RUNTIME_SEPARABILITY_H_
#define LCI_RUNTIME_SEPARABILITY_H_

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"

namespace lci::separability {

struct network {
  const char* name;
  attr_backend_t backend;
  std::string provider = {};  // of libfabric
  // What a library of the network's writes may be common; what this library writes may not, even if
  // the other writer is that one.
  bool library_shares = false;
  // Instructions of one thread are as many, by so many in a hundred, whether or not there are
  // others. Less than 0: they are not counted, for they vary with what the kernel does.
  int instructions_vary = 1;
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

std::vector<parameter> all_work_over(const std::vector<network>& networks);
std::string name_of(const testing::TestParamInfo<parameter>& info);

}  // namespace lci::separability

#endif  // LCI_RUNTIME_SEPARABILITY_H_
