// Backends that break their contract: the error says how.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/boot/in_process.h"
#include "lci/net/backend.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/backend_override/backend_override.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// Properties of the backend of a test.
struct faults {
  bool makes_context = true;
  bool makes_device = true;
  const char* name = "faulty";
  net::device_limits limits = {/*max_inject=*/64, /*max_send=*/64, /*max_rma=*/1};
  errorcode_t poll_answer = errorcode_t::retry;
};
faults how;

class faulty_device final : public net::device {
 public:
  faulty_device() : device(how.limits) {}
  error_t post(const net::op&) override { return errorcode_t::fatal; }
  error_t poll(net::completion*, size_t, size_t* count) override {
    *count = 0;
    return how.poll_answer;
  }
  void release(const net::completion&) override {}
  bool drained() override { return true; }
};

class faulty_context final : public net::context {
 public:
  const char* name() const override { return how.name; }
  base::StatusOr<std::unique_ptr<net::device>> make_device(const net::device_config&) override {
    std::unique_ptr<net::device> made;
    if (how.makes_device) made = std::make_unique<faulty_device>();
    return made;
  }
  base::StatusOr<net::local_region> register_memory(void*, size_t) override {
    return net::local_region{1};
  }
  void deregister_memory(net::local_region) override {}
  net::remote_region remote_key(net::local_region) const override { return {}; }
};

base::StatusOr<std::unique_ptr<net::context>> make(boot::bootstrap&, const net::context_config&) {
  std::unique_ptr<net::context> made;
  if (how.makes_context) made = std::make_unique<faulty_context>();
  return made;
}

const net::backend_entry faulty = {attr_backend_t::none, "faulty", -1, [] { return true; }, make};

// Runs a job of one rank over a backend with these faults. Returns the text of the exception that
// it ends with, or nothing.
std::string error_with(const faults& wanted, const std::function<void(runtime_t)>& body = {}) {
  how = wanted;
  const net::backend_override registered(faulty, attr_backend_t::sim);
  global_attr_t defaults;
  defaults.backend = net::id_of(faulty);
  return error_of([&] {
    runtime_impl_t runtime(std::move(boot::make_in_process_job(1, patience)[0]), runtime_attr_t(),
                           defaults);
    runtime_t handle;
    handle.p_impl = &runtime;
    if (body) body(handle);
  });
}

TEST(FaultyBackend, ThatMakesNothingIsNamed) {
  faults wanted;
  wanted.makes_context = false;
  EXPECT_HAS(error_with(wanted), "can't use backend faulty: INTERNAL: it made no context");
  wanted = faults();
  wanted.makes_device = false;
  EXPECT_HAS(error_with(wanted), "backend faulty made no device");
}

TEST(FaultyBackend, WithAnUnknownNameIsRefused) {
  faults wanted;
  wanted.name = "fualty";
  EXPECT_HAS(error_with(wanted), "can't use backend faulty");
  EXPECT_HAS(error_with(wanted), "with the name fualty, which no backend has");
}

TEST(FaultyBackend, WithWrongLimitsIsRefused) {
  const auto expect_refused = [](const std::string& text, const auto& set) {
    faults wanted;
    set(&wanted.limits);
    EXPECT_HAS(error_with(wanted), "backend faulty: the device has wrong limits: " + text);
  };
  expect_refused("max_inject is 63, not at least 64", [](auto* l) { l->max_inject = 63; });
  expect_refused("max_send is 64, not at least max_inject, 65",
                 [](auto* l) { l->max_inject = 65; });
  expect_refused("max_rma is 0, not at least 1", [](auto* l) { l->max_rma = 0; });
  expect_refused("put_imm_bits is 31, not 8, 16, 32 or 64", [](auto* l) { l->put_imm_bits = 31; });
  faults wanted;
  wanted.limits.has_put_imm = false;
  wanted.limits.put_imm_bits = 0;
  EXPECT_EQ(error_with(wanted), "");
}

TEST(FaultyBackend, WithAnUnknownAnswerOfPollIsNamedOnce) {
  faults wanted;
  wanted.poll_answer = errorcode_t::fatal;
  testing::internal::CaptureStderr();
  EXPECT_EQ(error_with(wanted,
                       [](runtime_t runtime) {
                         for (int i = 0; i < 100; ++i) progress_x().runtime(runtime)();
                       }),
            "");
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t found = log.find("a poll of the backend has answered fatal");
  ASSERT_NE(found, std::string::npos) << log;
  EXPECT_EQ(log.find("a poll of the backend", found + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace lci
