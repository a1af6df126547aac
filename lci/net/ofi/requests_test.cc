#include "lci/net/ofi/requests.h"

#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

request make_request(size_t size) { return {op_kind::get, true, size, nullptr, nullptr}; }

TEST(RequestTable, OpenRequestsHaveNumbersOfTheirOwn) {
  request_table table(2);
  std::set<uint32_t> numbers;
  for (size_t i = 0; i < max_requests; ++i) {
    ASSERT_FALSE(table.is_full(1));
    const uint32_t number = table.next(1);
    EXPECT_TRUE(numbers.insert(number).second) << number;
    table.open(1, make_request(i));
    ASSERT_NE(table.find(1, number), nullptr);
    EXPECT_EQ(table.find(1, number)->size, i);
  }
  EXPECT_TRUE(table.is_full(1));
  EXPECT_TRUE(table.is_empty(0)) << "the requests to another rank";
  table.close(1, 7);
  EXPECT_FALSE(table.is_full(1));
  EXPECT_EQ(table.next(1), 7u);
}

TEST(RequestTable, ANumberThatIsNotOpenIsNotFound) {
  request_table table(2);
  table.open(0, make_request(1));
  const uint32_t open = 0;
  ASSERT_NE(table.find(0, open), nullptr);
  EXPECT_EQ(table.find(1, open), nullptr) << "a request to another rank";
  for (const uint32_t number : {1u, max_requests - 1, max_requests, max_requests + open, ~0u}) {
    EXPECT_EQ(table.find(0, number), nullptr) << number;
  }
  table.close(0, open);
  EXPECT_EQ(table.find(0, open), nullptr) << "a second reply";
  EXPECT_TRUE(table.is_empty(0));
}

TEST(RequestTable, ClosesAllRequestsToOneRank) {
  request_table table(3);
  for (size_t i = 0; i < 4; ++i) table.open(1, make_request(i));
  table.close(1, 2);
  table.open(2, make_request(9));
  std::vector<size_t> closed;
  table.close_all(1, [&](const request& each) { closed.push_back(each.size); });
  EXPECT_THAT(closed, ElementsAre(0, 1, 3));
  EXPECT_TRUE(table.is_empty(1));
  EXPECT_FALSE(table.is_empty(2));
  closed.clear();
  table.close_all(1, [&](const request& each) { closed.push_back(each.size); });
  EXPECT_THAT(closed, IsEmpty());
}

deferred_answer make_answer(uint32_t imm) { return {record_kind::reply, true, imm, {}}; }

// Sends answers while there is room for `room` of them; returns what was sent.
std::vector<uint32_t> send(answer_queue* queue, int rank, size_t room) {
  std::vector<uint32_t> sent;
  queue->send_all(rank, [&](const deferred_answer& answer) {
    if (sent.size() == room) return false;
    sent.push_back(answer.imm);
    return true;
  });
  return sent;
}

TEST(AnswerQueue, SendsInOrderAndKeepsWhatHasNoRoom) {
  answer_queue queue(2);
  for (uint32_t i = 0; i < 5; ++i) queue.push(1, make_answer(i));
  EXPECT_TRUE(queue.empty(0));
  EXPECT_THAT(send(&queue, 1, 2), ElementsAre(0, 1));
  EXPECT_FALSE(queue.empty(1));
  EXPECT_THAT(send(&queue, 1, 0), IsEmpty());
  EXPECT_THAT(send(&queue, 1, 9), ElementsAre(2, 3, 4));
  EXPECT_TRUE(queue.empty(1));
}

TEST(AnswerQueue, TellsWhetherAnythingWasSent) {
  answer_queue queue(1);
  const auto refuse = [](const deferred_answer&) { return false; };
  const auto accept = [](const deferred_answer&) { return true; };
  EXPECT_FALSE(queue.send_all(0, accept));
  queue.push(0, make_answer(0));
  EXPECT_FALSE(queue.send_all(0, refuse));
  EXPECT_TRUE(queue.send_all(0, accept));
}

TEST(AnswerQueue, AnAnswerMayOweAnother) {
  answer_queue queue(1);
  queue.push(0, make_answer(0));
  std::vector<uint32_t> sent;
  queue.send_all(0, [&](const deferred_answer& answer) {
    // Enough for the queue to move in memory.
    if (answer.imm == 0) {
      for (uint32_t i = 1; i <= 100; ++i) queue.push(0, make_answer(i));
    }
    sent.push_back(answer.imm);
    return true;
  });
  ASSERT_EQ(sent.size(), 101u);
  for (uint32_t i = 0; i <= 100; ++i) EXPECT_EQ(sent[i], i);
  EXPECT_TRUE(queue.empty(0));
}

TEST(AnswerQueue, AdmitsNoMoreRequestsThanARankMayAsk) {
  answer_queue queue(2);
  for (uint32_t i = 0; i < max_requests; ++i) ASSERT_TRUE(queue.admit(0)) << i;
  EXPECT_FALSE(queue.admit(0));
  EXPECT_TRUE(queue.admit(1)) << "another rank";
  queue.answered(0);
  EXPECT_TRUE(queue.admit(0));
  EXPECT_FALSE(queue.admit(0));
}

TEST(AnswerQueue, OwesNothingToARankThatIsGone) {
  answer_queue queue(2);
  for (uint32_t i = 0; i < max_requests; ++i) ASSERT_TRUE(queue.admit(0));
  queue.push(0, make_answer(0));
  queue.push(1, make_answer(1));
  queue.forget(0);
  EXPECT_TRUE(queue.empty(0));
  EXPECT_TRUE(queue.admit(0));
  EXPECT_THAT(send(&queue, 1, 9), ElementsAre(1));
}

}  // namespace
}  // namespace lci::net::ofi
