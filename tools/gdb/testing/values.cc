// The values that printers_test.sh prints in the debugger.
#include <cstdint>

#include "lci.hpp"

namespace {

class inbox : public lci::comp_impl_t {
 public:
  inbox() : comp_impl_t(attributes()) {}
  void signal(lci::status_t /*status*/) override {}

 private:
  static attr_t attributes() {
    attr_t chosen;
    chosen.comp_type = lci::attr_comp_type_t::custom;
    chosen.name = "inbox";
    return chosen;
  }
};

// The debugger stops here and goes to the caller.
[[gnu::noinline]] void values_are_set() { asm volatile(""); }

}  // namespace

int main() {
  lci::error_t error = lci::errorcode_t::retry_nopacket;
  lci::progress_result_t progressed = lci::error_t(lci::errorcode_t::done);
  lci::status_t status = lci::errorcode_t::posted;
  status.rank = 3;
  status.buffer = reinterpret_cast<void*>(uintptr_t{0x1000});
  status.size = 64;
  status.tag = 7;
  lci::status_t any;
  any.tag = lci::ANY_TAG;
  inbox object;
  lci::comp_t comp(&object);
  lci::comp_t no_comp = lci::COMP_NULL;
  lci::comp_t retry = lci::COMP_NULL_RETRY;
  lci::comp_t dangling(reinterpret_cast<void*>(uintptr_t{0x40}));
  lci::mr_t on_device = lci::MR_DEVICE;
  lci::mr_t unknown = lci::MR_UNKNOWN;
  lci::device_t device(reinterpret_cast<void*>(uintptr_t{0x2000}));
  lci::thread_devices_t no_devices;
  lci::rmr_t memory;
  memory.base = 0x3000;
  memory.opaque_rkey = 0xab;
  lci::rmr_t no_memory;
  values_are_set();
  // The optimizer would drop what nobody reads.
  asm volatile("" ::"r"(&error), "r"(&progressed), "r"(&status), "r"(&any) : "memory");
  asm volatile("" ::"r"(&comp), "r"(&no_comp), "r"(&retry), "r"(&dangling) : "memory");
  asm volatile("" ::"r"(&on_device), "r"(&unknown), "r"(&device), "r"(&no_devices) : "memory");
  asm volatile("" ::"r"(&memory), "r"(&no_memory) : "memory");
}
