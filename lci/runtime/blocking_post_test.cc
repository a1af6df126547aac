// Posts that wait until they are complete, and exceptions that reach them meanwhile.
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

constexpr tag_t tag = 5;
const std::string text = "hello";

void send_to_self(const rank_under_test& self) {
  std::string buffer = text;
  static_cast<void>(
      post_send_x(self.rank, buffer.data(), buffer.size(), tag, COMP_NULL).runtime(self.runtime)());
}

// Until then the operation writes to the caller's buffer, and to what the library has on its stack.
TEST(BlockingPost, AnExceptionOfProgressComesOutWhenTheOperationIsOver) {
  run(1, [](rank_under_test& self) {
    static std::atomic<bool> thrown;
    thrown = false;
    comp_t handler = alloc_handler_x([](status_t) {
                       thrown = true;
                       throw std::runtime_error("of the handler");
                     }).runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(handler).runtime(self.runtime)();
    static_cast<void>(post_am_x(self.rank, nullptr, 0, COMP_NULL, name).runtime(self.runtime)());
    std::thread sender([&self] {
      while (!thrown) std::this_thread::yield();
      send_to_self(self);
    });
    std::string buffer(text.size(), ' ');
    try {
      static_cast<void>(post_recv_x(self.rank, buffer.data(), buffer.size(), tag, COMP_NULL)
                            .runtime(self.runtime)());
      ADD_FAILURE() << "the handler's exception is lost";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "of the handler");
      EXPECT_EQ(buffer, text);
    }
    sender.join();
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&handler}.runtime(self.runtime)();
  });
}

TEST(BlockingPost, OneThatCannotWaitInAHandlerStaysUnderWay) {
  run(1, [](rank_under_test& self) {
    static std::string buffer;
    static std::string error;
    static rank_under_test* rank;
    buffer.assign(text.size(), ' ');
    error.clear();
    rank = &self;
    comp_t handler =
        alloc_handler_x([](status_t) {
          try {
            static_cast<void>(post_recv_x(rank->rank, buffer.data(), buffer.size(), tag, COMP_NULL)
                                  .runtime(rank->runtime)());
          } catch (const std::logic_error& caught) {
            error = caught.what();
          }
        }).runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(handler).runtime(self.runtime)();
    static_cast<void>(post_am_x(self.rank, nullptr, 0, COMP_NULL, name).runtime(self.runtime)());
    while (error.empty()) static_cast<void>(progress_x().runtime(self.runtime)());
    EXPECT_NE(error.find("would have to wait inside a handler"), std::string::npos) << error;
    EXPECT_NE(error.find("its buffer is in use"), std::string::npos) << error;
    send_to_self(self);
    while (buffer != text) static_cast<void>(progress_x().runtime(self.runtime)());
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&handler}.runtime(self.runtime)();
  });
}

}  // namespace
}  // namespace lci
