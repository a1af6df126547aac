// The main function of tests whose ranks are joined by the ibv backend over simulated devices
// (fake_verbs.h): all of the backend but libibverbs itself.
#include <cstdlib>

#include "gtest/gtest.h"
#include "lci/testing/backend_override/backend_override.h"
#include "lci/testing/fake_verbs/fake_backend.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const lci::net::backend_override fake(lci::net::ibv::fake_backend);
  ::setenv("LCI_TEST_BACKEND", "ibv", /*overwrite=*/1);  // see choose_network in ranks.h
  return RUN_ALL_TESTS();
}
