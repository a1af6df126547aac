#include "lci/net/shm/distance.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lci::net::shm {
namespace {

using std::chrono::nanoseconds;

void measure(distance* from, nanoseconds time, int times) {
  for (int i = 0; i < times; ++i) from->measured(time);
}

TEST(Distance, IsNearUntilMostMeasurementsSayOtherwise) {
  distance to_peer;
  EXPECT_FALSE(to_peer.is_far());
  measure(&to_peer, nanoseconds(140), 2);
  EXPECT_FALSE(to_peer.is_far());
  measure(&to_peer, nanoseconds(140), 2);
  EXPECT_TRUE(to_peer.is_far());
}

TEST(Distance, FollowsAChange) {
  distance to_peer;
  measure(&to_peer, nanoseconds(400), 1000);
  EXPECT_TRUE(to_peer.is_far());
  measure(&to_peer, nanoseconds(50), distance::most_votes);
  EXPECT_FALSE(to_peer.is_far());
  measure(&to_peer, nanoseconds(50), 1000);
  measure(&to_peer, nanoseconds(400), distance::most_votes);
  EXPECT_TRUE(to_peer.is_far());
}

// The thread loses its processor now and then while it measures.
TEST(Distance, FewLongMeasurementsChangeNothing) {
  distance to_peer;
  for (int i = 0; i < 1000; ++i) {
    measure(&to_peer, nanoseconds(50), 2);
    measure(&to_peer, std::chrono::milliseconds(4), 1);
    EXPECT_FALSE(to_peer.is_far());
  }
}

TEST(Distance, TimesThatRunBackAreShort) {
  distance to_peer;
  measure(&to_peer, nanoseconds(-5), 10);
  EXPECT_FALSE(to_peer.is_far());
}

// To a peer that is far, so that measurements show. Looks with and without a changed pulse.
class Pulse : public testing::Test {
 protected:
  Pulse() {
    to_peer_.watch(pulse_);
    measure(&to_peer_, nanoseconds(400), distance::most_votes);
  }
  void look(int times, bool is_alive) {
    for (int i = 0; i < times; ++i) {
      if (is_alive) pulse_.fetch_add(1);
      to_peer_.look();
    }
  }
  static constexpr int measurements = 1000 * static_cast<int>(distance::calls_per_look);

  std::atomic<uint32_t> pulse_{0};
  distance to_peer_;
};

// Here the line of the pulse is this processor's own.
TEST_F(Pulse, OfAPeerThatIsNearIsReadSoon) {
  look(measurements, true);
  EXPECT_FALSE(to_peer_.is_far());
}

TEST_F(Pulse, ThatHasNotChangedSaysNothing) {
  look(measurements, false);
  EXPECT_TRUE(to_peer_.is_far());
}

TEST_F(Pulse, IsReadByFewLooks) {
  look(1, true);
  const auto few = static_cast<int>(distance::calls_per_look) - 1;
  for (int i = 0; i < 1000; ++i) {
    pulse_.fetch_add(1);
    look(few, false);
    // The eighth look is at the pulse that was read before.
    pulse_.fetch_sub(1);
    look(1, false);
  }
  EXPECT_TRUE(to_peer_.is_far());
}

TEST(Distance, IsAsAssumedWhateverIsMeasured) {
  distance near;
  near.assume(distance_mode::near);
  measure(&near, nanoseconds(400), 1000);
  EXPECT_FALSE(near.is_far());
  distance far;
  far.assume(distance_mode::far);
  EXPECT_TRUE(far.is_far());
  measure(&far, nanoseconds(50), 1000);
  EXPECT_TRUE(far.is_far());
}

}  // namespace
}  // namespace lci::net::shm
