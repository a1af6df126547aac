#include "lci/ds/write_gate.h"

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

TEST(WriteGate, WritesAreAnnouncedWhileTheyLast) {
  write_gate gate;
  gated_writer writer;
  EXPECT_FALSE(writer.writes_to(3));
  EXPECT_TRUE(writer.write(gate, 3, [&] {
    EXPECT_TRUE(writer.writes_to(3));
    EXPECT_FALSE(writer.writes_to(2));
    return true;
  }));
  EXPECT_FALSE(writer.writes_to(3));
  EXPECT_FALSE(writer.write(gate, 3, [] { return false; }));
  EXPECT_FALSE(gate.is_closed());
}

TEST(WriteGate, AClosedGateIsNotPassed) {
  write_gate gate;
  gated_writer writer;
  gate.close();
  EXPECT_TRUE(gate.is_closed());
  bool is_called = false;
  const auto write = [&is_called] { return is_called = true; };
  EXPECT_FALSE(writer.write(gate, 0, write));
  EXPECT_FALSE(is_called);
  EXPECT_FALSE(writer.writes_to(0));
  gate.open();
  EXPECT_TRUE(writer.write(gate, 0, write));
}

}  // namespace
}  // namespace lci::ds
