// The comparison's measurement over UCX's protocol layer (UCP): two ranks, every thread with a
// worker and an endpoint of its own, so that no worker needs thread support.
//   tag  tagged messages
//   am   active messages that arrive with their data (eager ones, so no large --size)
// Built and started by benchmarks/compare/run.
#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/compare/pair_bench.h"
#include "benchmarks/compare/pair_options.h"
#include "benchmarks/compare/two_processes.h"
#include "lci/base/poll_backoff.h"

namespace compare {
namespace {

void require(ucs_status_t status, const char* what) {
  if (status != UCS_OK) {
    std::fprintf(stderr, "ucx_bench: %s: %s\n", what, ucs_status_string(status));
    std::_Exit(1);
  }
}

// Sent by a thread of one rank to its partner when they connect.
struct card_t {
  size_t address_size = 0;
  char address[4096];
};

constexpr unsigned message_id = 1;
constexpr unsigned answer_id = 2;
constexpr ucp_tag_t data_tag = 1;
constexpr ucp_tag_t answer_tag = 2;
constexpr ucp_request_param_t no_options{};

// A worker and its endpoint to the other rank's; waiting for what was started.
class ucx_connection {
 public:
  ucx_connection(ucp_context_h context, const options_t& options) {
    for (std::vector<ucs_status_ptr_t>& half : requests_) {
      half.resize(static_cast<size_t>(options.window / 2));
    }
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    // Made by the first thread, used by one: UCX takes no locks for either.
    params.thread_mode = options.threads == 1 ? UCS_THREAD_MODE_SINGLE : UCS_THREAD_MODE_SERIALIZED;
    require(ucp_worker_create(context, &params, &worker_), "ucp_worker_create");
  }
  ucx_connection(const ucx_connection&) = delete;
  ucx_connection& operator=(const ucx_connection&) = delete;

  void describe(card_t* card) {
    ucp_address_t* address = nullptr;
    require(ucp_worker_get_address(worker_, &address, &card->address_size),
            "ucp_worker_get_address");
    if (card->address_size > sizeof card->address) {
      require(UCS_ERR_BUFFER_TOO_SMALL, "worker address");
    }
    std::memcpy(card->address, address, card->address_size);
    ucp_worker_release_address(worker_, address);
  }

  void connect(const card_t& card) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(card.address);
    require(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
  }

 protected:
  ucp_worker_h worker() const { return worker_; }
  ucp_ep_h endpoint() const { return endpoint_; }

  // Progresses until the condition holds, and lets other threads run as lci_perf does: on the
  // comparison's machines there may be more threads than processors, and UCX would otherwise wait
  // out its time slices.
  template <class Condition>
  void progress_until(const Condition& condition) {
    lci::base::poll_backoff backoff;
    while (!condition()) {
      backoff.poll(this, [this] { return ucp_worker_progress(worker_) != 0; });
    }
  }

  void wait(ucs_status_ptr_t request) {
    if (request == nullptr) {
      return;
    }
    if (UCS_PTR_IS_ERR(request)) {
      require(UCS_PTR_STATUS(request), "an operation");
    }
    progress_until([request] { return ucp_request_check_status(request) != UCS_INPROGRESS; });
    require(ucp_request_check_status(request), "an operation");
    ucp_request_free(request);
  }

  // Starts an operation for every message of half a window.
  template <class Start>
  void start_all(int half, const Start& start) {
    for (ucs_status_ptr_t& request : requests_[half]) {
      request = start();
    }
  }
  void wait_all(int half) {
    for (const ucs_status_ptr_t request : requests_[half]) {
      wait(request);
    }
  }

 private:
  std::vector<ucs_status_ptr_t> requests_[2];
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
};

// Tag.

class tag_connection : public ucx_connection {
 public:
  using ucx_connection::ucx_connection;
  void send(const char* data, size_t size) { wait(start_send(data, size, data_tag)); }
  void receive(char* data, size_t size) { wait(start_receive(data, size, data_tag)); }
  void start_sends(int half, const char* data, size_t size, int) {
    start_all(half, [=] { return start_send(data, size, data_tag); });
  }
  void finish_sends(int half) { wait_all(half); }
  void start_receives(int half, char* data, size_t size, int) {
    start_all(half, [=] { return start_receive(data, size, data_tag); });
  }
  void finish_receives(int half) { wait_all(half); }
  void answer(uint64_t value) { wait(start_send(&value, sizeof value, answer_tag)); }
  uint64_t await_answer() {
    uint64_t value = 0;
    wait(start_receive(&value, sizeof value, answer_tag));
    return value;
  }

 private:
  ucs_status_ptr_t start_send(const void* data, size_t size, ucp_tag_t tag) {
    return ucp_tag_send_nbx(endpoint(), data, size, tag, &no_options);
  }
  ucs_status_ptr_t start_receive(void* data, size_t size, ucp_tag_t tag) {
    return ucp_tag_recv_nbx(worker(), data, size, tag, ~ucp_tag_t{0}, &no_options);
  }
};

// Am.

class am_connection : public ucx_connection {
 public:
  am_connection(ucp_context_h context, const options_t& options)
      : ucx_connection(context, options), data_(options.size), half_(options.window / 2) {
    handle(message_id, message_arrived);
    handle(answer_id, answer_arrived);
  }
  void send(const char* data, size_t size) { wait(start_send(message_id, data, size)); }
  void receive(char* data, size_t size) {
    take(1);
    std::memcpy(data, data_.data(), size);
  }
  void start_sends(int half, const char* data, size_t size, int) {
    start_all(half, [=] { return start_send(message_id, data, size); });
  }
  void finish_sends(int half) { wait_all(half); }
  void start_receives(int, char* data, size_t size, int) {
    into_ = data;
    into_size_ = size;
  }
  void finish_receives(int) {
    take(half_);
    std::memcpy(into_, data_.data(), into_size_);
  }
  void answer(uint64_t value) { wait(start_send(answer_id, &value, sizeof value)); }
  uint64_t await_answer() {
    progress_until([this] { return answers_ > 0; });
    const uint64_t value = answer_[0];
    answer_[0] = answer_[1];
    --answers_;
    return value;
  }

 private:
  void handle(unsigned id, ucp_am_recv_callback_t callback) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.cb = callback;
    param.arg = this;
    require(ucp_worker_set_am_recv_handler(worker(), &param), "ucp_worker_set_am_recv_handler");
  }
  static ucs_status_t message_arrived(void* arg, const void*, size_t, void* data, size_t size,
                                      const ucp_am_recv_param_t* param) {
    auto& self = *static_cast<am_connection*>(arg);
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 || size != self.data_.size()) {
      require(UCS_ERR_MESSAGE_TRUNCATED,
              "--size is too large for messages that arrive with their data");
    }
    std::memcpy(self.data_.data(), data, size);
    ++self.waiting_;
    return UCS_OK;
  }
  static ucs_status_t answer_arrived(void* arg, const void*, size_t, void* data, size_t,
                                     const ucp_am_recv_param_t*) {
    auto& self = *static_cast<am_connection*>(arg);
    std::memcpy(&self.answer_[self.answers_++], data, sizeof self.answer_[0]);
    return UCS_OK;
  }
  ucs_status_ptr_t start_send(unsigned id, const void* data, size_t size) {
    return ucp_am_send_nbx(endpoint(), id, nullptr, 0, data, size, &no_options);
  }
  void take(int count) {
    progress_until([this, count] { return waiting_ >= count; });
    waiting_ -= count;
  }

  std::vector<char> data_;  // of the newest message
  int half_;
  int waiting_ = 0;  // messages that were not taken yet
  char* into_ = nullptr;
  size_t into_size_ = 0;
  uint64_t answer_[2] = {0, 0};  // no more are under way
  int answers_ = 0;
};

// All variants.

template <class Connection>
class transport {
 public:
  transport(two_processes* processes, ucp_context_h context, const options_t& options)
      : processes_(*processes) {
    auto* const cards = static_cast<card_t*>(processes->shared());
    const auto threads = static_cast<size_t>(options.threads);
    card_t* const mine = cards + (processes->rank() == 0 ? 0 : threads);
    card_t* const theirs = cards + (processes->rank() == 0 ? threads : 0);
    for (size_t t = 0; t < threads; ++t) {
      connections_.push_back(new Connection(context, options));
      connections_[t]->describe(&mine[t]);
    }
    processes->meet();
    for (size_t t = 0; t < threads; ++t) {
      connections_[t]->connect(theirs[t]);
    }
  }
  int rank() const { return processes_.rank(); }
  void meet() { processes_.meet(); }
  Connection& connection(int thread) { return *connections_[static_cast<size_t>(thread)]; }

 private:
  two_processes& processes_;
  // Left to the end of the process, as the context is: taking the connections down is not what is
  // measured.
  std::vector<Connection*> connections_;
};

std::string version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return "UCX " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(release);
}

template <class Connection>
void run(const options_t& options) {
  two_processes processes(2 * static_cast<size_t>(options.threads) * sizeof(card_t));
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = options.op == "tag" ? UCP_FEATURE_TAG : UCP_FEATURE_AM;
  params.mt_workers_shared = options.threads > 1 ? 1 : 0;
  ucp_config_t* config = nullptr;
  require(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_context_h context = nullptr;
  require(ucp_init(&params, config, &context), "ucp_init");
  ucp_config_release(config);
  transport<Connection> over(&processes, context, options);
  result_t result = measure(&over, options);
  if (processes.rank() == 0) {
    print_result(stdout, options, version(), &result);
  }
  processes.meet();
}

int main_of(int argc, char** argv) {
  options_t options;
  const std::string wrong = parse_options(argc, argv, {"tag", "am"}, &options);
  if (!wrong.empty()) {
    std::fprintf(stderr, "ucx_bench: %s\n", wrong.c_str());
    return 2;
  }
  if (options.op == "tag") {
    run<tag_connection>(options);
  } else {
    run<am_connection>(options);
  }
  return 0;
}

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::main_of(argc, argv); }
