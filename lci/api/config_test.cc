// The macros of config.hpp say what the library does.
#include "lci/api/config.hpp"

#include <string>

#include "gtest/gtest.h"
#include "lci/api/attr.hpp"

namespace lci {
namespace {

TEST(Config, DefaultsAreThoseOfTheAttributes) {
  const global_attr_t attr;
  EXPECT_EQ(attr.packet_size, size_t{LCI_PACKET_SIZE_DEFAULT});
  EXPECT_EQ(attr.npackets, size_t{LCI_PACKET_NUM_DEFAULT});
  EXPECT_EQ(attr.net_max_sends, size_t{LCI_BACKEND_MAX_SENDS_DEFAULT});
  EXPECT_EQ(attr.net_max_recvs, size_t{LCI_BACKEND_MAX_RECVS_DEFAULT});
  EXPECT_EQ(attr.net_max_cqes, size_t{LCI_BACKEND_MAX_CQES_DEFAULT});
  EXPECT_EQ(attr.max_msg_size, size_t{LCI_USE_MAX_SINGLE_MESSAGE_SIZE_DEFAULT});
  EXPECT_EQ(attr.ofi_provider_name, LCI_OFI_PROVIDER_HINT_DEFAULT);
  EXPECT_EQ(attr.use_reg_cache, LCI_USE_REG_CACHE != 0);
  EXPECT_EQ(attr.ibv_td_strategy != attr_ibv_td_strategy_t::none, LCI_USE_IBV_TD_DEFAULT != 0);
  EXPECT_EQ(attr.alloc_progress_endpoint, LCI_USE_PRG_ENDPOINT_DEFAULT != 0);
}

TEST(Config, VersionIsSaidInOneWay) {
  EXPECT_EQ(LCI_VERSION_HEX,
            LCI_VERSION_MAJOR * 0x10000 + LCI_VERSION_MINOR * 0x100 + LCI_VERSION_PATCH);
  EXPECT_EQ(LCI_VERSION_STRING, std::to_string(LCI_VERSION_MAJOR) + "." +
                                    std::to_string(LCI_VERSION_MINOR) + "." +
                                    std::to_string(LCI_VERSION_PATCH));
  EXPECT_EQ(LCI_VERSION_FULL, LCI_VERSION_STRING + std::string(LCI_VERSION_SUFFIX));
#if LCI_VERSION_HEX < 0x020000
  FAIL() << "clients take the package for LCI 1";
#endif
}

TEST(Config, BackendsAreListed) {
  std::string enabled;
#ifdef LCI_BACKEND_ENABLE_IBV
  enabled += "ibv";
#endif
#ifdef LCI_BACKEND_ENABLE_OFI
  enabled += enabled.empty() ? "ofi" : ";ofi";
#endif
  EXPECT_EQ(LCI_NETWORK_BACKENDS_ENABLED, enabled);
}

}  // namespace
}  // namespace lci
