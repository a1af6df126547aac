// The atomic operations of libibverbs, without LCI: the time of one, and the rate with 64 under
// way, of 8 B integers of another process; and whether they are atomic with respect to those of the
// processor, which adds to the same integer meanwhile.
//   ibv_atomics    the first device, its port 1 and the GID of index 1
// docs/performance/atomics.md says how it is built, and compares it with lci_perf.
#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "benchmarks/compare/two_processes.h"

namespace {

constexpr int window = 64;
constexpr uint64_t operations = 50000;
// The device adds to the lower half of the second integer, and the processor to the upper half.
constexpr uint64_t of_processor = uint64_t{1} << 32;

void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::_Exit(1);
}

// In memory that both processes see.
struct shared_state {
  struct {
    uint32_t queue_pair;
    uint32_t key;
    uint64_t address;
    ibv_gid gid;
  } places[2];
  std::atomic<bool> adds;  // the processor of the target
  uint64_t added;          // by the processor
  uint64_t found;          // in the second integer
};

class connection {
 public:
  connection() : words_(2 + window) {
    ibv_device** const devices = ibv_get_device_list(nullptr);
    require(devices != nullptr && devices[0] != nullptr, "ibv_get_device_list");
    context_ = ibv_open_device(devices[0]);
    require(context_ != nullptr, "ibv_open_device");
    ibv_pd* const domain = ibv_alloc_pd(context_);
    queue_ = ibv_create_cq(context_, 2 * window, nullptr, nullptr, 0);
    memory_ = ibv_reg_mr(domain, words_.data(), words_.size() * sizeof(words_[0]), access);
    require(memory_ != nullptr, "ibv_reg_mr");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue_;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = 2 * window;
    wanted.cap.max_recv_wr = 1;
    wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    pair_ = ibv_create_qp(domain, &wanted);
    require(pair_ != nullptr, "ibv_create_qp");
  }

  ibv_atomic_cap capability() const {
    ibv_device_attr attributes;
    require(ibv_query_device(context_, &attributes) == 0, "ibv_query_device");
    return attributes.atomic_cap;
  }

  void describe(int rank, shared_state* state) const {
    auto& own = state->places[rank];
    own.queue_pair = pair_->qp_num;
    own.key = memory_->rkey;
    own.address = reinterpret_cast<uint64_t>(words_.data());
    require(ibv_query_gid(context_, 1, 1, &own.gid) == 0, "ibv_query_gid");
  }

  void connect(int rank, const shared_state& state) {
    const auto& other = state.places[1 - rank];
    address_ = other.address;
    key_ = other.key;
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = 1;
    to.qp_access_flags = access;
    modify(to, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    to = {};
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = IBV_MTU_1024;
    to.dest_qp_num = other.queue_pair;
    to.max_dest_rd_atomic = 16;
    to.min_rnr_timer = 12;
    to.ah_attr.is_global = 1;
    to.ah_attr.grh.dgid = other.gid;
    to.ah_attr.grh.sgid_index = 1;
    to.ah_attr.grh.hop_limit = 1;
    to.ah_attr.port_num = 1;
    modify(to, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    to = {};
    to.qp_state = IBV_QPS_RTS;
    to.timeout = 14;
    to.retry_cnt = to.rnr_retry = 7;
    to.max_rd_atomic = 16;
    modify(to, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                   IBV_QP_MAX_QP_RD_ATOMIC);
  }

  // Carries out `count` operations on an integer, `at_once` of them under way at a time. Seconds.
  double run(ibv_wr_opcode what, size_t integer, uint64_t count, uint64_t at_once) {
    const auto begin = std::chrono::steady_clock::now();
    uint64_t posted = 0;
    uint64_t complete = 0;  // in the order of the posts
    while (complete < count) {
      for (; posted < count && posted - complete < at_once; ++posted) {
        post(what, integer, static_cast<size_t>(posted % at_once));
      }
      ibv_wc ends[window];
      const int found = ibv_poll_cq(queue_, window, ends);
      for (int i = 0; i < found; ++i) require(ends[i].status == IBV_WC_SUCCESS, "an operation");
      complete += static_cast<uint64_t>(found);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  // The target's side of the second part: adds as long as it is to, and says what is there then.
  void add_beside(shared_state* state) {
    uint64_t* const integer = &words_[1];
    while (state->adds.load(std::memory_order_acquire)) {
      for (int i = 0; i < 1000; ++i) __atomic_fetch_add(integer, of_processor, __ATOMIC_ACQ_REL);
      state->added += 1000;
    }
    state->found = __atomic_load_n(integer, __ATOMIC_ACQUIRE);
  }

 private:
  static constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
                                IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

  void modify(ibv_qp_attr& to, int what) {
    require(ibv_modify_qp(pair_, &to, IBV_QP_STATE | what) == 0, "ibv_modify_qp");
  }

  // Adds 1 or, as a compare-and-swap, replaces 1.
  void post(ibv_wr_opcode what, size_t integer, size_t slot) {
    ibv_sge former{reinterpret_cast<uint64_t>(&words_[2 + slot]), sizeof(words_[0]), memory_->lkey};
    ibv_send_wr request{};
    request.sg_list = &former;
    request.num_sge = 1;
    request.opcode = what;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.atomic.remote_addr = address_ + integer * sizeof(words_[0]);
    request.wr.atomic.rkey = key_;
    request.wr.atomic.compare_add = 1;
    ibv_send_wr* refused = nullptr;
    require(ibv_post_send(pair_, &request, &refused) == 0, "ibv_post_send");
  }

  std::vector<uint64_t> words_;  // the target's integers, and former values
  ibv_context* context_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* memory_ = nullptr;
  ibv_qp* pair_ = nullptr;
  uint64_t address_ = 0;
  uint32_t key_ = 0;
};

void measure(connection* way, ibv_wr_opcode what, const char* name) {
  way->run(what, 0, operations / 50, 1);
  const double alone = way->run(what, 0, operations / 5, 1);
  const double together = way->run(what, 0, operations, window);
  std::printf("%-14s %8.3f us, %d under way: %8.3f M/s\n", name, 5e6 * alone / operations, window,
              1e-6 * operations / together);
  std::fflush(stdout);
}

}  // namespace

int main() {
  compare::two_processes both(sizeof(shared_state));
  auto* const state = static_cast<shared_state*>(both.shared());
  connection way;
  way.describe(both.rank(), state);
  both.meet();
  way.connect(both.rank(), *state);
  if (both.rank() == 0) state->adds.store(true, std::memory_order_release);
  both.meet();
  if (both.rank() == 0) {
    std::printf("atomic_cap %d (1: of the device, 2: also of the processor)\n", way.capability());
    measure(&way, IBV_WR_ATOMIC_FETCH_AND_ADD, "fetch and add");
    measure(&way, IBV_WR_ATOMIC_CMP_AND_SWP, "compare, swap");
  }
  both.meet();
  if (both.rank() == 1) {
    way.add_beside(state);
    both.meet();
    return 0;
  }
  way.run(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, operations, 16);
  state->adds.store(false, std::memory_order_release);
  both.meet();
  const auto seen = [&](int shift) {
    return static_cast<unsigned long long>(static_cast<uint32_t>(state->found >> shift));
  };
  std::printf("of %llu additions of the device %llu are there, and of %llu of the processor %llu\n",
              static_cast<unsigned long long>(operations), seen(0),
              static_cast<unsigned long long>(static_cast<uint32_t>(state->added)), seen(32));
  return 0;
}
