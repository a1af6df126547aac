// The communication engine of a task runtime (PaRSEC is one): workers hand commands to one thread
// that communicates; active messages are dispatched by their tag; a put is an announcement by
// active message and then a send that meets the receive which the announcement posts; a get asks
// for a put. Completions are taken in batches from queues.
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "check.h"

namespace {

using compat::index_of;

constexpr int kWorkers = 3;
constexpr int kTasks = 12;  // of each worker

enum tag_t : lci::tag_t { kActivate = 1, kAnnouncePut, kAskForPut, kLast };

using callback_t = std::function<void()>;

// Memory that others name by a number of this rank.
struct region_t {
  char* address;
  size_t size;
};

struct put_header_t {
  int region;   // of the target
  size_t disp;  // there
  size_t size;
  lci::tag_t tag;     // of the data
  uint64_t callback;  // of the target
};
struct get_header_t {
  int remote_region;  // where it is
  size_t remote_disp;
  size_t size;
  put_header_t answer;
};

class engine_t {
 public:
  engine_t() {
    device_ = lci::alloc_device();
    am_cq_ = lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::lcrq).name("active messages")();
    local_cq_ = lci::alloc_cq_x().default_length(8192).name("local")();
    rcomp_ = lci::register_rcomp_x(am_cq_).runtime(lci::get_g_runtime())();
    // The messages of the engine do not match those of others.
    engine_ = lci::alloc_matching_engine();
    lci::barrier_x().device(device_)();
  }
  ~engine_t() {
    lci::barrier_x().device(device_)();
    lci::deregister_rcomp(rcomp_);
    lci::free_matching_engine(&engine_);
    lci::free_comp(&local_cq_);
    lci::free_comp(&am_cq_);
    lci::free_device(&device_);
  }

  int add_region(char* address, size_t size) {
    regions_.push_back({address, size});
    return static_cast<int>(regions_.size()) - 1;
  }
  uint64_t add_callback(callback_t callback) {
    const uint64_t key = next_key_++;
    callbacks_[key] = std::move(callback);
    return key;
  }
  void on_activate(std::function<void(int rank, const char* bytes, size_t size)> handler) {
    on_activate_ = std::move(handler);
  }

  void send_am(int rank, lci::tag_t tag, const void* bytes, size_t size) {
    auto* copy = new std::vector<char>(static_cast<const char*>(bytes),
                                       static_cast<const char*>(bytes) + size);
    run_when_complete(lci::post_am_x(rank, copy->data(), copy->size(), local_cq_, rcomp_).tag(tag),
                      [copy] { delete copy; });
  }
  void put(int rank, char* from, const put_header_t& header, callback_t then) {
    send_am(rank, kAnnouncePut, &header, sizeof(header));
    run_when_complete(lci::post_send_x(rank, from, header.size, header.tag, local_cq_)
                          .matching_engine(engine_)
                          .matching_policy(lci::matching_policy_t::rank_tag),
                      std::move(then));
  }
  lci::tag_t new_tag() { return next_tag_++; }

  // A command of a worker, for the thread that communicates.
  void submit(callback_t command) {
    const std::lock_guard<std::mutex> guard(lock_);
    commands_.push_back(std::move(command));
  }

  bool progress() {
    std::vector<callback_t> commands;
    {
      const std::lock_guard<std::mutex> guard(lock_);
      commands.swap(commands_);
    }
    for (callback_t& each : commands) each();
    bool did = lci::progress_x().device(device_).runtime(lci::get_g_runtime())().is_done();
    for (int i = 0; i < 16; ++i) {
      const lci::status_t status = lci::cq_pop(local_cq_);
      if (status.is_retry()) break;
      run(status.get_user_context());
      did = true;
    }
    for (int i = 0; i < 16; ++i) {
      const lci::status_t status = lci::cq_pop(am_cq_);
      if (status.is_retry()) break;
      dispatch(status);
      std::free(status.buffer);
      did = true;
    }
    return did || !commands.empty();
  }
  bool is_idle() const { return under_way_ == 0; }

 private:
  // Never blocks: what is not taken is tried again with the next commands.
  template <class Op>
  void run_when_complete(Op op, callback_t then) {
    auto* context = new callback_t(std::move(then));
    op.device(device_).user_context(context);
    ++under_way_;
    try_to_post(op, context);
  }
  template <class Op>
  void try_to_post(const Op& op, callback_t* context) {
    const lci::status_t status = op();
    if (status.is_done()) run(context);
    if (status.is_retry()) submit([this, op, context] { try_to_post(op, context); });
  }
  void run(void* context) {
    auto* then = static_cast<callback_t*>(context);
    --under_way_;
    (*then)();
    delete then;
  }

  void dispatch(const lci::status_t& status) {
    EXPECT(status.get_tag() < kLast);
    switch (status.get_tag()) {
      case kActivate:
        on_activate_(status.get_rank(), static_cast<const char*>(status.buffer), status.size);
        break;
      case kAnnouncePut: {
        put_header_t header;
        EXPECT_EQ(status.size, sizeof(header));
        std::memcpy(&header, status.buffer, sizeof(header));
        const region_t& region = regions_[index_of(header.region)];
        EXPECT(header.disp + header.size <= region.size);
        run_when_complete(lci::post_recv_x(status.get_rank(), region.address + header.disp,
                                           header.size, header.tag, local_cq_)
                              .matching_engine(engine_),
                          [this, header] {
                            const auto found = callbacks_.find(header.callback);
                            EXPECT(found != callbacks_.end());
                            const callback_t callback = std::move(found->second);
                            callbacks_.erase(found);
                            callback();
                          });
        break;
      }
      default: {
        get_header_t header;
        EXPECT_EQ(status.size, sizeof(header));
        std::memcpy(&header, status.buffer, sizeof(header));
        header.answer.tag = new_tag();
        put(status.get_rank(),
            regions_[index_of(header.remote_region)].address + header.remote_disp, header.answer,
            [] {});
      }
    }
  }

  lci::device_t device_;
  lci::comp_t am_cq_;
  lci::comp_t local_cq_;
  lci::rcomp_t rcomp_;
  lci::matching_engine_t engine_;
  std::vector<region_t> regions_;
  std::map<uint64_t, callback_t> callbacks_;
  std::function<void(int, const char*, size_t)> on_activate_;
  uint64_t next_key_ = 1;
  lci::tag_t next_tag_ = 0;
  int under_way_ = 0;
  std::mutex lock_;
  std::vector<callback_t> commands_;
};

// Every worker activates tasks at the next rank; the next rank gets the data of each, and the end
// of that is what it counts.
void test_tasks() {
  constexpr size_t kData = 24000;
  engine_t engine;
  std::vector<char> source = compat::bytes_of(lci::get_rank_me(), kData);
  std::vector<char> target(kData * kWorkers * kTasks, 't');
  const int source_region = engine.add_region(source.data(), source.size());
  const int target_region = engine.add_region(target.data(), target.size());
  int finished = 0;
  const auto size_of = [](int task) { return kData >> (task % 12); };
  engine.on_activate([&](int rank, const char* bytes, size_t size) {
    int task = -1;
    EXPECT_EQ(size, sizeof(task));
    std::memcpy(&task, bytes, sizeof(task));
    get_header_t header;
    header.remote_region = source_region;  // as there
    header.remote_disp = 0;
    header.answer.region = target_region;
    header.answer.disp = kData * index_of(task);
    header.size = header.answer.size = size_of(task);
    header.answer.callback = engine.add_callback([&, rank, task] {
      EXPECT(compat::are_bytes_of(rank, target.data() + kData * index_of(task), size_of(task)));
      ++finished;
    });
    engine.send_am(rank, kAskForPut, &header, sizeof(header));
  });

  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&engine, worker] {
      for (int i = 0; i < kTasks; ++i) {
        engine.submit([&engine, task = worker * kTasks + i] {
          engine.send_am(compat::next_rank(), kActivate, &task, sizeof(task));
        });
      }
    });
  }
  while (finished < kWorkers * kTasks || !engine.is_idle()) engine.progress();
  for (std::thread& each : workers) each.join();
  // The others ask this rank for data until they are finished, too.
  lci::comp_t met = lci::alloc_counter();
  lci::barrier_x().comp(met)();
  while (lci::counter_get(met) == 0) {
    lci::progress();
    engine.progress();
  }
  lci::free_comp(&met);
  EXPECT(engine.is_idle());
  EXPECT_EQ(finished, kWorkers * kTasks);
}

void test() {
  lci::g_runtime_init();
  test_tasks();
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
