// Programs name remote memory by its address: rmr_t::base is the registered address, and what they
// give to put and get is the address they mean minus that base.
#include "check.h"

namespace {

using compat::bytes_of;
using compat::index_of;

// The data that a rank sends to the others.
struct region_t {
  lci::rmr_t rmr;
  char* address;
};

std::vector<region_t> exchange(lci::mr_t mr, void* address) {
  const region_t own = {lci::get_rmr(mr), static_cast<char*>(address)};
  std::vector<region_t> all(index_of(lci::get_rank_n()));
  lci::allgather(&own, all.data(), sizeof(own));
  return all;
}

void put(int rank, const std::vector<char>& from, char* to, lci::rmr_t rmr, lci::comp_t sync) {
  const uintptr_t disp = reinterpret_cast<uintptr_t>(to) - rmr.base;
  std::vector<char> buffer = from;
  const lci::status_t status =
      compat::complete(lci::post_put_x(rank, buffer.data(), buffer.size(), sync, disp, rmr)
                           .comp_semantic(lci::comp_semantic_t::network),
                       sync);
  EXPECT(status.is_done());
}

std::vector<char> get(int rank, const char* from, size_t size, lci::rmr_t rmr, lci::comp_t sync) {
  std::vector<char> buffer(size, 'x');
  // As Charm++ does: the address as a number, minus the base.
  const uintptr_t disp = (uintptr_t)from - rmr.base;
  (void)compat::complete(lci::post_get_x(rank, buffer.data(), buffer.size(), sync, disp, rmr),
                         sync);
  return buffer;
}

// Base and offsets of a whole block.
void test_base(lci::comp_t sync) {
  constexpr size_t kBytes = size_t{1} << 17;
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  std::vector<char> block(kBytes, 'a');
  lci::mr_t mr = lci::register_memory(block.data(), block.size());
  const std::vector<region_t> all = exchange(mr, block.data());
  const region_t& theirs = all[index_of(to)];
  for (const region_t& each : all) {
    EXPECT_EQ(each.rmr.base, reinterpret_cast<uintptr_t>(each.address));
    EXPECT(!each.rmr.is_empty());
  }

  // Sizes that travel in each way, each at an odd place of its own.
  size_t place = 1;
  for (const size_t size : {size_t{1}, size_t{8}, size_t{1000}, size_t{9000}, size_t{70000}}) {
    put(to, bytes_of(lci::get_rank_me(), size), theirs.address + place, theirs.rmr, sync);
    EXPECT(get(to, theirs.address + place, size, theirs.rmr, sync) ==
           bytes_of(lci::get_rank_me(), size));
    lci::barrier();
    EXPECT(compat::are_bytes_of(from, block.data() + place, size));
    EXPECT_EQ(block[place - 1], 'a');
    EXPECT_EQ(block[place + size], 'a');
    lci::barrier();
    place += size + 3;
  }
  // Nothing at all is written.
  put(to, {}, theirs.address + 1, theirs.rmr, sync);
  lci::barrier();
  lci::deregister_memory(&mr);
}

// Registrations of parts of a block, which overlap: each has its own base.
void test_parts(lci::comp_t sync) {
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  std::vector<char> block(10000, 'b');
  lci::mr_t whole = lci::register_memory(block.data(), block.size());
  lci::mr_t part = lci::register_memory(block.data() + 4000, 2000);
  const std::vector<region_t> wholes = exchange(whole, block.data());
  const std::vector<region_t> parts = exchange(part, block.data() + 4000);
  EXPECT_EQ(parts[index_of(to)].rmr.base, wholes[index_of(to)].rmr.base + 4000);
  put(to, bytes_of(1, 100), wholes[index_of(to)].address + 4096, parts[index_of(to)].rmr, sync);
  put(to, bytes_of(2, 2000), wholes[index_of(to)].address + 7000, wholes[index_of(to)].rmr, sync);
  lci::barrier();
  EXPECT(compat::are_bytes_of(1, block.data() + 4096, 100));
  EXPECT(compat::are_bytes_of(2, block.data() + 7000, 2000));
  lci::barrier();
  // The part ends, the whole does not.
  lci::deregister_memory(&part);
  lci::barrier();
  put(to, bytes_of(3, 500), wholes[index_of(to)].address + 4500, wholes[index_of(to)].rmr, sync);
  EXPECT(get(to, wholes[index_of(to)].address + 4500, 500, wholes[index_of(to)].rmr, sync) ==
         bytes_of(3, 500));
  lci::barrier();
  EXPECT(compat::are_bytes_of(3, block.data() + 4500, 500));
  EXPECT(from >= 0);
  lci::deregister_memory(&whole);
}

// The same memory through each of several devices, a rmr_t each, sent as bytes.
void test_devices(lci::comp_t sync) {
  constexpr size_t kDevices = 2;
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  std::vector<char> block(8192, 'c');
  std::vector<lci::device_t> devices;
  std::vector<lci::mr_impl_t*> regions;
  std::vector<lci::rmr_t> own;
  for (size_t i = 0; i < kDevices; ++i) {
    devices.push_back(lci::alloc_device());
    regions.push_back(
        lci::register_memory_x(block.data(), block.size()).device(devices[i])().get_impl());
    own.push_back(lci::get_rmr(lci::mr_t(regions[i])));
  }
  std::vector<lci::rmr_t> all(kDevices * index_of(lci::get_rank_n()));
  lci::allgather(own.data(), all.data(), kDevices * sizeof(lci::rmr_t));
  char* const address = block.data();
  std::vector<char*> addresses(index_of(lci::get_rank_n()));
  lci::allgather(&address, addresses.data(), sizeof(address));
  for (size_t i = 0; i < kDevices; ++i) {
    const lci::rmr_t rmr = all[index_of(to) * kDevices + i];
    char* const place = addresses[index_of(to)] + 1024 * (i + 1);
    std::vector<char> bytes = bytes_of(lci::get_rank_me(), 512 + i);
    lci::status_t status;
    do {
      status = lci::post_put_x(to, bytes.data(), bytes.size(), sync,
                               reinterpret_cast<uintptr_t>(place) - rmr.base, rmr)
                   .device(devices[i])
                   .comp_semantic(lci::comp_semantic_t::network)();
      lci::progress_x().device(devices[i])();
    } while (status.is_retry());
    while (status.is_posted() && !lci::sync_test(sync, nullptr)) {
      lci::progress_x().device(devices[i])();
    }
  }
  // Those of the others may need these devices polled.
  lci::comp_t met = lci::alloc_counter();
  lci::barrier_x().comp(met)();
  while (lci::counter_get(met) == 0) {
    lci::progress();
    for (lci::device_t device : devices) lci::progress_x().device(device)();
  }
  lci::free_comp(&met);
  for (size_t i = 0; i < kDevices; ++i) {
    EXPECT(compat::are_bytes_of(from, block.data() + 1024 * (i + 1), 512 + i));
  }
  lci::barrier();
  for (size_t i = 0; i < kDevices; ++i) {
    lci::mr_t mr(regions[i]);
    lci::deregister_memory(&mr);
    lci::free_device(&devices[i]);
  }
}

void test() {
  lci::g_runtime_init();
  lci::comp_t sync = lci::alloc_sync();
  test_base(sync);
  test_parts(sync);
  test_devices(sync);
  lci::barrier();
  lci::free_comp(&sync);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
