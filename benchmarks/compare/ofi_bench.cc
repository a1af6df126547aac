// The comparison's measurement over libfabric itself, as little as a program can call of it: two
// ranks of one thread, messages of endpoints of reliable datagrams.
//   --op PROVIDER  net, tcp;ofi_rxm
// Built and started by benchmarks/compare/run.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "benchmarks/compare/pair_bench.h"
#include "benchmarks/compare/pair_options.h"
#include "benchmarks/compare/two_processes.h"
#include "lci/base/poll_backoff.h"

namespace compare {
namespace {

void require(ssize_t code, const char* what) {
  if (code < 0) {
    std::fprintf(stderr, "ofi_bench: %s: %s\n", what, fi_strerror(static_cast<int>(-code)));
    std::_Exit(1);
  }
}

// Where the endpoint of a rank is.
struct card_t {
  size_t size = 0;
  char name[256];
};

// An endpoint and its queue. Messages of one rank arrive in order, so they are counted, and
// operations need no names.
class ofi_connection {
 public:
  explicit ofi_connection(const std::string& provider) {
    fi_info* hints = fi_allocinfo();
    hints->fabric_attr->prov_name = strdup(provider.c_str());
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    fi_info* info = nullptr;
    require(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", nullptr, FI_SOURCE, hints, &info),
            "fi_getinfo");
    inject_size_ = info->tx_attr->inject_size;
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
    require(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    require(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    require(fi_av_open(domain, &addresses, &addresses_, nullptr), "fi_av_open");
    fi_cq_attr queue{};
    queue.size = 4096;
    queue.format = FI_CQ_FORMAT_MSG;
    queue.wait_obj = FI_WAIT_NONE;
    require(fi_cq_open(domain, &queue, &queue_, nullptr), "fi_cq_open");
    require(fi_endpoint(domain, info, &endpoint_, nullptr), "fi_endpoint");
    require(fi_ep_bind(endpoint_, &addresses_->fid, 0), "fi_ep_bind");
    require(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    require(fi_enable(endpoint_), "fi_enable");
    fi_freeinfo(hints);
    fi_freeinfo(info);
  }
  ofi_connection(const ofi_connection&) = delete;
  ofi_connection& operator=(const ofi_connection&) = delete;

  void describe(card_t* card) {
    card->size = sizeof card->name;
    require(fi_getname(&endpoint_->fid, card->name, &card->size), "fi_getname");
  }
  void connect(const card_t& card) {
    require(fi_av_insert(addresses_, card.name, 1, &other_, 0, nullptr) - 1, "fi_av_insert");
  }

  void send(const char* data, size_t size) {
    start_send(data, size);
    wait(sent_, sends_);
  }
  void receive(char* data, size_t size) {
    start_receive(data, size);
    wait(received_, receives_);
  }
  void start_sends(int half, const char* data, size_t size, int count) {
    for (int i = 0; i < count; ++i) start_send(data, size);
    sends_until_[half] = sends_;
  }
  void finish_sends(int half) { wait(sent_, sends_until_[half]); }
  void start_receives(int half, char* data, size_t size, int count) {
    for (int i = 0; i < count; ++i) start_receive(data, size);
    receives_until_[half] = receives_;
  }
  void finish_receives(int half) { wait(received_, receives_until_[half]); }
  void answer(uint64_t value) { send(reinterpret_cast<const char*>(&value), sizeof value); }
  uint64_t await_answer() {
    uint64_t value = 0;
    receive(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

 private:
  void start_send(const char* data, size_t size) {
    const bool inject = size <= inject_size_;
    retry([=] {
      return inject ? fi_inject(endpoint_, data, size, other_)
                    : fi_send(endpoint_, data, size, nullptr, other_, nullptr);
    });
    if (!inject) ++sends_;
  }
  void start_receive(char* data, size_t size) {
    retry([=] { return fi_recv(endpoint_, data, size, nullptr, other_, nullptr); });
    ++receives_;
  }
  template <class Post>
  void retry(const Post& post) {
    ssize_t code;
    while ((code = post()) == -FI_EAGAIN) poll();
    require(code, "a post");
  }
  void wait(const uint64_t& count, uint64_t until) {
    lci::base::poll_backoff backoff;
    while (count < until) backoff.poll(this, [this] { return poll(); });
  }
  bool poll() {
    fi_cq_msg_entry entries[16];
    const ssize_t read = fi_cq_read(queue_, entries, 16);
    if (read == -FI_EAGAIN) return false;
    require(read, "fi_cq_read");
    for (ssize_t i = 0; i < read; ++i) ++((entries[i].flags & FI_RECV) != 0 ? received_ : sent_);
    return true;
  }

  // Left to the end of the process: taking the connection down is not what is measured.
  fid_av* addresses_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fi_addr_t other_ = FI_ADDR_UNSPEC;
  size_t inject_size_ = 0;
  // Operations that have a completion: posted, and complete.
  uint64_t sends_ = 0;
  uint64_t sent_ = 0;
  uint64_t receives_ = 0;
  uint64_t received_ = 0;
  uint64_t sends_until_[2] = {0, 0};
  uint64_t receives_until_[2] = {0, 0};
};

class transport {
 public:
  transport(two_processes* processes, const options_t& options)
      : processes_(*processes), connection_(options.op) {
    auto* const cards = static_cast<card_t*>(processes->shared());
    connection_.describe(&cards[processes->rank()]);
    processes->meet();
    connection_.connect(cards[1 - processes->rank()]);
  }
  int rank() const { return processes_.rank(); }
  void meet() { processes_.meet(); }
  ofi_connection& connection(int) { return connection_; }

 private:
  two_processes& processes_;
  ofi_connection connection_;
};

int main_of(int argc, char** argv) {
  options_t options;
  std::string wrong = parse_options(argc, argv, {"net", "tcp;ofi_rxm"}, &options);
  if (wrong.empty() && options.threads != 1) wrong = "--threads: must be 1";
  if (!wrong.empty()) {
    std::fprintf(stderr, "ofi_bench: %s\n", wrong.c_str());
    return 2;
  }
  two_processes processes(2 * sizeof(card_t));
  transport over(&processes, options);
  result_t result = measure(&over, options);
  if (processes.rank() == 0) {
    const uint32_t version = fi_version();
    print_result(
        stdout, options,
        "libfabric " + std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version)),
        &result);
  }
  processes.meet();
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::main_of(argc, argv); }
