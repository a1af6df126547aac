// A backend that is in the registry, and has only a name, is one that programs can choose by it.
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/net/backend.h"
#include "lci/runtime/core/attributes.h"
#include "lci/testing/backend_override/backend_override.h"
#include "lci/testing/loopback/backend.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

TEST(RegisteredBackend, IsChosenByItsName) {
  const net::backend_override registered(net::loopback::backend, attr_backend_t::sim);
  ASSERT_EQ(net::loopback::backend.id, attr_backend_t::none);
  setenv("LCI_ATTR_BACKEND", "loopback", 1);
  const auto attributes = rt::attributes_from_environment();
  unsetenv("LCI_ATTR_BACKEND");
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  run_job(
      2,
      [](runtime_t runtime) {
        const net_context_impl_t& context = *runtime.p_impl->default_net_context();
        EXPECT_STREQ(context.net->name(), "loopback");
        EXPECT_EQ(context.attr.backend, net::id_of(net::loopback::backend));
        const int peer = 1 - rank_of(runtime);
        int sent = rank_of(runtime);
        int received = -1;
        comp_t both = alloc_sync_x().threshold(2).runtime(runtime)();
        const auto receive = post_recv_x(peer, &received, sizeof(received), 1, both);
        EXPECT_TRUE(accepted(post_recv_x(receive).runtime(runtime).allow_done(false)).is_posted());
        const auto send = post_send_x(peer, &sent, sizeof(sent), 1, both);
        EXPECT_TRUE(accepted(post_send_x(send).runtime(runtime).allow_done(false)).is_posted());
        sync_wait_x(both, nullptr).runtime(runtime)();
        EXPECT_EQ(received, peer);
        free_comp_x(&both).runtime(runtime)();
      },
      runtime_attr_t(), *attributes);
}

TEST(RegisteredBackend, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const net::backend_override registered(net::loopback::backend, attr_backend_t::sim);
  setenv("LCI_ATTR_BACKEND", "looback", 1);
  const auto attributes = rt::attributes_from_environment();
  unsetenv("LCI_ATTR_BACKEND");
  ASSERT_FALSE(attributes.ok());
  // Other backends may be registered as well.
  EXPECT_THAT(attributes.status().ToString(),
              testing::ContainsRegex("give one of: auto, none, shm, .*loopback, .*ucx"));
}

}  // namespace
}  // namespace lci
