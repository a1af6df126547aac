#include "lci/runtime/core/attributes.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::rt {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Returns the log output of checking `attr`.
template <class Attributes>
std::string report_of(effect_reports& reports, const Attributes& attr) {
  testing::internal::CaptureStderr();
  reports.check(attr);
  return testing::internal::GetCapturedStderr();
}

TEST(EffectReports, NothingIsSaidOfDefaultsAndOfWhatHasAnEffect) {
  effect_reports reports(0);
  EXPECT_THAT(report_of(reports, net_context_attr_t()), IsEmpty());
  device_attr_t device;
  device.net_max_sends = 7;
  EXPECT_THAT(report_of(reports, device), IsEmpty());
}

TEST(EffectReports, AnAttributeWithoutEffectIsNamedOnce) {
  effect_reports reports(0);
  net_context_attr_t context;
  context.use_dmabuf = false;
  EXPECT_THAT(report_of(reports, context), HasSubstr("attribute use_dmabuf (LCI_ATTR_USE_DMABUF)"));
  EXPECT_THAT(report_of(reports, context), IsEmpty());
  context.max_inject_size = 128;
  EXPECT_THAT(report_of(reports, context), HasSubstr("attribute max_inject_size"));

  device_attr_t device;
  device.ofi_lock_mode = LCI_NET_TRYLOCK_SEND;
  device.alloc_progress_endpoint = true;
  device.shm_enable = false;
  device.shm_ring_size = 1;
  device.shm_slot_size = 1;
  device.shm_producer_cas_attempts = 1;
  device.shm_consumer_cas_attempts = 2;
  device.shm_max_polls = 1;
  const std::string report = report_of(reports, device);
  for (const char* name :
       {"ofi_lock_mode", "alloc_progress_endpoint", "shm_enable", "shm_ring_size", "shm_slot_size",
        "shm_producer_cas_attempts", "shm_consumer_cas_attempts", "shm_max_polls"}) {
    EXPECT_THAT(report, HasSubstr(std::string("attribute ") + name + " "));
  }
}

TEST(EffectReports, OtherRanksDoNotRepeatWhatRank0Says) {
  effect_reports reports(1);
  net_context_attr_t context;
  context.use_dmabuf = false;
  EXPECT_THAT(report_of(reports, context), IsEmpty());
}

}  // namespace
}  // namespace lci::rt
