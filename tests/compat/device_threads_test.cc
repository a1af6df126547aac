// A runtime of many objects per thread (Charm++ is one): threads that are spread over devices of
// their own, try-locks around progress, handlers on both sides, the tag as the number of a handler,
// an allocator of its own, memory registered with every device and named by address, and registered
// memory that is read and written again and again.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "check.h"

namespace {

using compat::index_of;

constexpr int kDevices = 2;
constexpr int kThreads = 4;
constexpr int kRounds = 10;

// The layer.

// A header in front of what the receiver gets.
struct allocator_t : lci::allocator_base_t {
  std::atomic<int> live{0};
  void* allocate(size_t size) override {
    ++live;
    return static_cast<char*>(std::malloc(size + 64)) + 64;
  }
  void deallocate(void* pointer) override { release(pointer); }
  void release(void* pointer) {
    --live;
    std::free(static_cast<char*>(pointer) - 64);
  }
};
allocator_t allocator;

using handler_t = void (*)(void* buffer, size_t size, void* context);
struct local_args_t {
  handler_t handler;
  void* context;
};

std::vector<handler_t> handlers;
std::vector<lci::device_t> devices;
std::vector<std::atomic<bool>> locks(kDevices);
lci::comp_t local_comp;
lci::comp_t remote_comp;
lci::rcomp_t rcomp;
thread_local int device_index = 0;
thread_local bool in_callback = false;

void on_local(lci::status_t status) {
  auto* args = static_cast<local_args_t*>(status.get_user_context());
  const local_args_t copy = *args;
  delete args;
  copy.handler(status.get_buffer(), status.get_size(), copy.context);
}
void on_remote(lci::status_t status) {
  handlers[status.get_tag()](status.get_buffer(), status.get_size(), nullptr);
}

// A thread that loses the race for a device returns immediately.
bool progress() {
  bool did = false;
  std::atomic<bool>& lock = locks[index_of(device_index)];
  bool expected = false;
  if (!lock.compare_exchange_strong(expected, true, std::memory_order_acquire)) return did;
  in_callback = true;
  auto result = lci::progress_x().device(devices[index_of(device_index)])();
  in_callback = false;
  lock.store(false, std::memory_order_release);
  if (result.is_done()) did = true;
  return did;
}

// Other ranks may need any device until they are here, too.
void barrier() {
  lci::comp_t comp = lci::alloc_counter();
  lci::barrier_x().device(devices[0]).comp(comp)();
  while (lci::counter_get(comp) == 0) {
    for (device_index = 0; device_index < kDevices; ++device_index) progress();
  }
  device_index = 0;
  lci::free_comp(&comp);
}

// The operation is posted until it is taken. Inside of a handler it must be taken at once.
template <class Op>
void issue(Op op, handler_t handler, void* context, void* buffer, size_t size) {
  auto* args = new local_args_t{handler, context};
  const bool allow_retry = !in_callback;
  lci::status_t status;
  do {
    status =
        op.device(devices[index_of(device_index)]).user_context(args).allow_retry(allow_retry)();
    if (allow_retry) progress();
  } while (status.is_retry());
  if (status.is_done()) {
    delete args;
    handler(buffer, size, context);
  }
}

// One registration a device, kept as addresses of what the library made.
lci::mr_impl_t** register_with_all(void* address, size_t size) {
  auto** mrs = new lci::mr_impl_t*[kDevices];
  for (int i = 0; i < kDevices; ++i) {
    mrs[i] = lci::register_memory_x(address, size).device(devices[index_of(i)])().get_impl();
  }
  return mrs;
}
void pack_rmrs(lci::mr_impl_t** mrs, char* bytes) {
  for (int i = 0; i < kDevices; ++i) {
    const lci::rmr_t rmr = lci::get_rmr(lci::mr_t(mrs[i]));
    std::memcpy(bytes, &rmr, sizeof(lci::rmr_t));
    bytes += sizeof(lci::rmr_t);
  }
}
void deregister_from_all(lci::mr_impl_t** mrs) {
  for (int i = 0; i < kDevices; ++i) {
    lci::mr_t mr(mrs[i]);
    lci::deregister_memory(&mr);
  }
  delete[] mrs;
}
constexpr size_t kPacked = sizeof(lci::rmr_t) * kDevices;

// Use of the layer.

struct letter_t {
  int thread;
  int from;
  int hops;
};
std::atomic<int> arrived[kThreads];
std::atomic<int> finished_locally{0};

void count_local(void*, size_t, void* context) {
  finished_locally.fetch_add(1);
  if (context != nullptr) static_cast<std::atomic<int>*>(context)->fetch_add(1);
}

// Every letter goes around the ring by the handlers of the ranks.
void on_letter(void* buffer, size_t size, void*) {
  letter_t letter;
  EXPECT(size >= sizeof(letter));
  std::memcpy(&letter, buffer, sizeof(letter));
  const size_t rest = size - sizeof(letter);
  EXPECT(compat::are_bytes_of(letter.from, static_cast<char*>(buffer) + sizeof(letter), rest));
  if (--letter.hops == 0) {
    allocator.release(buffer);
    arrived[letter.thread].fetch_add(1);
    return;
  }
  // The same bytes are forwarded from memory that is freed when the send is complete.
  std::memcpy(buffer, &letter, sizeof(letter));
  const handler_t release = [](void* sent, size_t, void*) { allocator.release(sent); };
  issue(lci::post_am_x(compat::next_rank(), buffer, size, local_comp, rcomp).tag(0), release,
        nullptr, buffer, size);
}

void send_letters(int thread) {
  const int n = lci::get_rank_n();
  for (int round = 0; round < kRounds; ++round) {
    const size_t size = sizeof(letter_t) + (round % 8 == 7 ? 20000u : 40u);
    std::vector<char> bytes(size);
    const letter_t letter = {thread, lci::get_rank_me(), 2 * n};
    std::memcpy(bytes.data(), &letter, sizeof(letter));
    for (size_t i = sizeof(letter); i < size; ++i) {
      bytes[i] = compat::byte_of(letter.from, i - sizeof(letter));
    }
    std::atomic<int> gone{0};
    const int before = arrived[thread].load();
    issue(lci::post_am_x(compat::next_rank(), bytes.data(), size, local_comp, rcomp).tag(0),
          count_local, &gone, bytes.data(), size);
    // All ranks send as many letters of each thread, and each ends where it began.
    while (gone.load() == 0 || arrived[thread].load() == before) progress();
  }
}

struct block_t {
  char* address;
  char rmrs[kPacked];
};
lci::rmr_t rmr_of(const block_t& block) {
  lci::rmr_t rmr;
  std::memcpy(&rmr, block.rmrs + sizeof(rmr) * index_of(device_index), sizeof(rmr));
  return rmr;
}

// Each thread reads and writes its own part of the block of the neighbor, several times through the
// same registrations, with the local buffer registered and not.
void read_and_write(int thread, const std::vector<block_t>& blocks, size_t bytes_of_thread) {
  const int to = compat::next_rank();
  const block_t& block = blocks[index_of(to)];
  std::vector<char> local(bytes_of_thread);
  lci::mr_impl_t** mrs = register_with_all(local.data(), local.size());
  char* const place = block.address + bytes_of_thread * index_of(thread);
  const lci::rmr_t rmr = rmr_of(block);
  for (int round = 0; round < 6; ++round) {
    lci::mr_t mr = round % 2 == 0 ? lci::mr_t(mrs[device_index]) : lci::mr_t();
    const size_t shift = index_of(round * 13);
    const size_t size = bytes_of_thread - shift;
    const std::vector<char> expected = compat::bytes_of(thread * 7 + round, size);
    std::copy(expected.begin(), expected.end(), local.begin());
    std::atomic<int> ended{0};
    const uintptr_t disp = reinterpret_cast<uintptr_t>(place + shift) - rmr.base;
    issue(lci::post_put_x(to, local.data(), size, local_comp, disp, rmr)
              .mr(mr)
              .comp_semantic(lci::comp_semantic_t::network),
          count_local, &ended, local.data(), size);
    while (ended.load() == 0) progress();
    std::fill(local.begin(), local.end(), 'l');
    issue(lci::post_get_x(to, local.data(), size, local_comp, disp, rmr).mr(mr), count_local,
          &ended, local.data(), size);
    while (ended.load() == 1) progress();
    EXPECT(std::equal(expected.begin(), expected.end(), local.begin()));
  }
  deregister_from_all(mrs);
}

// Threads that share devices.
template <class Body>
void in_threads(Body body) {
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&body, &running, i] {
      device_index = i / (kThreads / kDevices);
      body(i);
      // Others still need the devices.
      running.fetch_sub(1);
      while (running.load() > 0) progress();
    });
  }
  for (std::thread& each : threads) each.join();
  barrier();
}

void test() {
  lci::global_initialize();
  auto attr = lci::get_g_default_attr();
  attr.net_max_recvs = 1024;
  attr.npackets = 8192;
  attr.ofi_lock_mode =
      lci::LCI_NET_TRYLOCK_SEND | lci::LCI_NET_TRYLOCK_RECV | lci::LCI_NET_TRYLOCK_POLL;
  lci::set_g_default_attr(attr);
  lci::g_runtime_init_x().alloc_default_device(false)();
  for (int i = 0; i < kDevices; ++i) devices.push_back(lci::alloc_device());
  local_comp = lci::alloc_handler(on_local);
  remote_comp = lci::alloc_handler(on_remote);
  rcomp = lci::register_rcomp(remote_comp);
  lci::set_allocator(&allocator);
  handlers = {on_letter};
  barrier();

  in_threads(send_letters);
  for (const std::atomic<int>& each : arrived) EXPECT_EQ(each.load(), kRounds);
  // A forwarded buffer is freed when its send is complete here.
  while (allocator.live.load() != 0) {
    for (device_index = 0; device_index < kDevices; ++device_index) progress();
  }
  device_index = 0;

  constexpr size_t kOfThread = 12000;
  std::vector<char> room(kOfThread * kThreads);
  lci::mr_impl_t** mrs = register_with_all(room.data(), room.size());
  block_t own;
  own.address = room.data();
  pack_rmrs(mrs, own.rmrs);
  std::vector<block_t> blocks(index_of(lci::get_rank_n()));
  lci::allgather_x(&own, blocks.data(), sizeof(own)).device(devices[0])();
  in_threads([&blocks](int thread) { read_and_write(thread, blocks, kOfThread); });
  EXPECT(finished_locally.load() > 0);
  deregister_from_all(mrs);

  for (auto device : devices) lci::free_device(&device);
  devices.clear();
  lci::free_comp(&local_comp);
  lci::free_comp(&remote_comp);
  lci::g_runtime_fina();
  lci::global_finalize();
}

}  // namespace

int main() { return compat::run(test); }
