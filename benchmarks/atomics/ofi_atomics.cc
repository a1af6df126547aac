// The atomic operations of libfabric, without LCI: the time of one, and the rate with 64 under way,
// of 8 B integers of another process, which only polls.
//   ofi_atomics PROVIDER    such as tcp;ofi_rxm
// Exit code 0: every operation took place once; 3: the provider has no atomic operations.
// docs/performance/atomics.md says how it is built, and compares it with lci_perf.
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "benchmarks/compare/two_processes.h"

namespace {

constexpr int window = 64;
constexpr uint64_t operations = 50000;
enum class operation { fetch_add, compare_swap, add };

void require(ssize_t code, const char* what) {
  if (code >= 0) return;
  std::fprintf(stderr, "ofi_atomics: %s: %s\n", what, fi_strerror(static_cast<int>(-code)));
  std::_Exit(1);
}

// To the processor of this number.
void bind_to(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(processor), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

// In memory that both processes see.
struct shared_state {
  struct {
    size_t size;
    char name[256];
    uint64_t address;
    uint64_t key;
  } places[2];
  std::atomic<bool> is_over;
  uint64_t found;  // in the target's integer
};

class connection {
 public:
  explicit connection(const char* provider) : words_(2 + window) {
    fi_info* const hints = fi_allocinfo();
    hints->fabric_attr->prov_name = strdup(provider);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
    hints->mode = FI_CONTEXT;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    fi_info* info = nullptr;
    if (fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info) != 0) std::_Exit(3);
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
    require(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    require(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.size = 1024;
    queue.format = FI_CQ_FORMAT_CONTEXT;
    require(fi_cq_open(domain, &queue, &queue_, nullptr), "fi_cq_open");
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    require(fi_av_open(domain, &addresses, &addresses_, nullptr), "fi_av_open");
    require(fi_endpoint(domain, info, &endpoint_, nullptr), "fi_endpoint");
    require(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    require(fi_ep_bind(endpoint_, &addresses_->fid, 0), "fi_ep_bind");
    require(fi_enable(endpoint_), "fi_enable");
    constexpr uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    require(fi_mr_reg(domain, words_.data(), words_.size() * sizeof(words_[0]), access, 0, 1, 0,
                      &memory_, nullptr),
            "fi_mr_reg");
    uses_addresses_ = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    size_t count = 0;
    if (fi_fetch_atomicvalid(endpoint_, FI_UINT64, FI_SUM, &count) != 0) std::_Exit(3);
  }

  void describe(const compare::two_processes& both, shared_state* state) {
    auto& own = state->places[both.rank()];
    own.size = sizeof(own.name);
    require(fi_getname(&endpoint_->fid, own.name, &own.size), "fi_getname");
    own.address = uses_addresses_ ? reinterpret_cast<uint64_t>(words_.data()) : 0;
    own.key = fi_mr_key(memory_);
  }
  void connect(const compare::two_processes& both, const shared_state& state) {
    const auto& other = state.places[1 - both.rank()];
    require(fi_av_insert(addresses_, other.name, 1, &to_, 0, nullptr) - 1, "fi_av_insert");
    address_ = other.address;
    key_ = other.key;
  }

  // Carries out `count` operations, `at_once` of them under way at a time. Seconds.
  double run(operation what, uint64_t count, size_t at_once) {
    std::vector<size_t> free_slots;
    for (size_t slot = 0; slot < at_once; ++slot) free_slots.push_back(slot);
    const auto begin = std::chrono::steady_clock::now();
    uint64_t posted = 0;
    while (posted < count || free_slots.size() < at_once) {
      while (posted < count && !free_slots.empty()) {
        const ssize_t code = post(what, free_slots.back());
        if (code == -FI_EAGAIN) break;
        require(code, "an atomic operation");
        free_slots.pop_back();
        ++posted;
      }
      poll(&free_slots);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  // Adds the slots of operations that are complete.
  void poll(std::vector<size_t>* free_slots) {
    fi_cq_entry entries[window];
    const ssize_t read = fi_cq_read(queue_, entries, window);
    if (read == -FI_EAGAIN) return;
    require(read, "fi_cq_read");
    for (ssize_t i = 0; i < read; ++i) {
      const auto* const done = static_cast<const fi_context*>(entries[i].op_context);
      free_slots->push_back(static_cast<size_t>(done - contexts_));
    }
  }

  uint64_t own_integer() const { return __atomic_load_n(words_.data(), __ATOMIC_ACQUIRE); }

 private:
  // Adds 1 or, as a compare-and-swap, finds another value.
  ssize_t post(operation what, size_t slot) {
    void* const local = fi_mr_desc(memory_);
    uint64_t* const operand = &words_[1];
    uint64_t* const former = &words_[2 + slot];
    void* const context = &contexts_[slot];
    *operand = 1;
    switch (what) {
      case operation::fetch_add:
        return fi_fetch_atomic(endpoint_, operand, 1, local, former, local, to_, address_, key_,
                               FI_UINT64, FI_SUM, context);
      case operation::compare_swap:
        return fi_compare_atomic(endpoint_, operand, 1, local, operand, local, former, local, to_,
                                 address_, key_, FI_UINT64, FI_CSWAP, context);
      case operation::add:
        break;
    }
    fi_ioc from{operand, 1};
    fi_rma_ioc target{address_, 1, key_};
    void* locals[] = {local};
    fi_msg_atomic message{};
    message.msg_iov = &from;
    message.desc = locals;
    message.iov_count = 1;
    message.addr = to_;
    message.rma_iov = &target;
    message.rma_iov_count = 1;
    message.datatype = FI_UINT64;
    message.op = FI_SUM;
    message.context = context;
    return fi_atomicmsg(endpoint_, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION);
  }

  std::vector<uint64_t> words_;  // the target's integer, the operand, and former values
  fi_context contexts_[window];
  fid_cq* queue_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fid_mr* memory_ = nullptr;
  bool uses_addresses_ = false;
  fi_addr_t to_ = 0;
  uint64_t address_ = 0;
  uint64_t key_ = 0;
};

// Prints the figures. Returns how often 1 was added.
uint64_t measure(connection* way) {
  constexpr struct {
    operation what;
    const char* name;
  } all[] = {{operation::fetch_add, "fi_fetch_atomic"},
             {operation::compare_swap, "fi_compare_atomic"},
             {operation::add, "fi_atomicmsg"}};
  uint64_t added = 0;
  for (const auto& one : all) {
    constexpr uint64_t warmup = 1000;
    way->run(one.what, warmup, 1);
    const double alone = way->run(one.what, operations, 1);
    const double together = way->run(one.what, operations, window);
    std::printf("%-18s %8.3f us, %d under way: %8.3f M/s\n", one.name, 1e6 * alone / operations,
                window, 1e-6 * operations / together);
    std::fflush(stdout);
    if (one.what != operation::compare_swap) added += warmup + 2 * operations;
  }
  return added;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ofi_atomics PROVIDER\n");
    return 2;
  }
  compare::two_processes both(sizeof(shared_state));
  auto* const state = static_cast<shared_state*>(both.shared());
  bind_to(both.rank());
  connection way(argv[1]);
  way.describe(both, state);
  both.meet();
  way.connect(both, *state);
  both.meet();
  if (both.rank() == 1) {
    std::vector<size_t> unused;
    while (!state->is_over.load(std::memory_order_acquire)) way.poll(&unused);
    state->found = way.own_integer();
    both.meet();
    return 0;
  }
  const uint64_t added = measure(&way);
  state->is_over.store(true, std::memory_order_release);
  both.meet();
  if (state->found == added) return 0;
  std::fprintf(stderr, "ofi_atomics: the integer is %llu, not %llu\n",
               static_cast<unsigned long long>(state->found),
               static_cast<unsigned long long>(added));
  return 1;
}
