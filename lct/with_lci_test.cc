// A program that uses LCI and LCT together, as runtimes do.
#include "lci.hpp"
#include "lct.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct/testing/test_file.h"

namespace {

TEST(with_lci, rank_and_time_of_one_go_with_messages_of_the_other) {
  const lct::test_file file("log");
  const lct::test_env outfile("LCT_LOG_OUTFILE", file.path());
  LCT_init();
  lci::g_runtime_init();
  EXPECT_EQ(LCT_get_rank(), lci::get_rank_me());
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(1);
  LCT_pcounter_ctx_t counters = LCT_pcounter_ctx_alloc("test");
  const LCT_pcounter_handle_t timer =
      LCT_pcounter_register(counters, "barrier", LCT_PCOUNTER_TIMER);
  LCT_pcounter_start(counters, timer);
  lci::barrier();
  LCT_pcounter_end(counters, timer);
  LCT_tbarrier_arrive_and_wait(barrier);
  LCT_Warn(LCT_log_ctx_default, "passed\n");
  LCT_pcounter_ctx_free(&counters);
  LCT_tbarrier_free(&barrier);
  lci::g_runtime_fina();
  LCT_set_rank(-1);
  LCT_fina();
  ASSERT_THAT(file.lines(), testing::SizeIs(1));
  EXPECT_THAT(file.lines()[0], testing::StartsWith("0:"));
}

}  // namespace
