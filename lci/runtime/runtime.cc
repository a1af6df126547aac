#include "lci/runtime/runtime.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lci/base/log.h"

namespace lci {
namespace {

void check_imm_bits(const runtime_attr_t& attr) {
  if (attr.imm_nbits_tag < 0 || attr.imm_nbits_tag > 16) {
    throw std::invalid_argument(
        absl::StrCat("lci: attribute imm_nbits_tag is ", attr.imm_nbits_tag, ", not 0 to 16"));
  }
  if (attr.imm_nbits_rcomp < 1 || attr.imm_nbits_rcomp > 15) {
    throw std::invalid_argument(
        absl::StrCat("lci: attribute imm_nbits_rcomp is ", attr.imm_nbits_rcomp, ", not 1 to 15"));
  }
}

// What all ranks must agree on before the first message.
struct agreement {
  uint64_t wire_version;
  int32_t tag_bits;
  int32_t rcomp_bits;
};

void compare_with_peers(boot::bootstrap& boot, const rt::imm_layout& imm) {
  const agreement ours{rt::wire_version, imm.tag_bits, imm.rcomp_bits};
  const absl::string_view bytes(reinterpret_cast<const char*>(&ours), sizeof(ours));
  auto all = boot.allgather("agreement", bytes, boot.default_timeout());
  if (!all.ok()) {
    throw std::runtime_error(
        absl::StrCat("lci: the ranks could not meet: ", all.status().ToString()));
  }
  for (size_t rank = 0; rank < all->size(); ++rank) {
    if ((*all)[rank] != bytes) {
      throw std::runtime_error(absl::StrCat(
          "lci: rank ", rank, " and rank ", boot.rank(),
          " run different versions of the library, or with different imm_nbits_tag or "
          "imm_nbits_rcomp; start all ranks with the same program and LCI_ATTR_ variables"));
    }
  }
}

std::unique_ptr<net::context> make_network(boot::bootstrap& boot, attr_backend_t* backend) {
  const net::backend_entry* entry = net::find_backend(*backend);
  if (entry == nullptr || !entry->available()) {
    throw std::runtime_error(
        absl::StrCat("lci: the backend asked for (LCI_ATTR_BACKEND) is ",
                     entry == nullptr ? "not part of this library" : "not available on this host",
                     "; leave it unset for the default"));
  }
  *backend = entry->id;
  auto network = entry->make(boot);
  if (!network.ok()) {
    throw std::runtime_error(absl::StrCat("lci: rank ", boot.rank(), " can't use backend ",
                                          entry->name, ": ", network.status().ToString()));
  }
  return *std::move(network);
}

}  // namespace

allocator_default_t g_allocator_default;

runtime_impl_t::runtime_impl_t(std::unique_ptr<boot::bootstrap> boot,
                               const runtime_attr_t& attributes,
                               const device_attr_t& default_device)
    : boot_(std::move(boot)), attr_(attributes) {
  check_imm_bits(attr_);
  imm_.tag_bits = attr_.imm_nbits_tag;
  imm_.rcomp_bits = attr_.imm_nbits_rcomp;
  attr_.max_imm_tag = imm_.max_tag();
  attr_.max_imm_rcomp = imm_.max_rcomp();
  attr_.max_tag = ~uint64_t{0};
  attr_.max_rcomp = ~uint32_t{0};
  compare_with_peers(*boot_, imm_);
  network_ = make_network(*boot_, &attr_.backend);
  if (attr_.alloc_default_device) default_device_ = make_device(default_device);
}

runtime_impl_t::~runtime_impl_t() = default;

std::unique_ptr<device_impl_t> runtime_impl_t::make_device(device_attr_t attributes) {
  if (attributes.packet_size < 256 || attributes.packet_size > 65536) {
    throw std::invalid_argument(absl::StrCat("lci: attribute packet_size is ",
                                             attributes.packet_size, ", not 256 to 65536"));
  }
  attributes.uid = next_uid_.fetch_add(1, std::memory_order_relaxed);
  net::device_config config;
  config.uid = attributes.uid;
  config.max_message = attributes.packet_size;
  auto network = network_->make_device(config);
  if (!network.ok()) {
    throw std::runtime_error(absl::StrCat("lci: rank ", rank(), " can't make device ",
                                          attributes.uid, ": ", network.status().ToString()));
  }
  return std::make_unique<device_impl_t>(*this, attributes, *std::move(network));
}

device_impl_t* runtime_impl_t::alloc_device(device_attr_t attributes) {
  std::unique_ptr<device_impl_t> device = make_device(attributes);
  extra_devices_.fetch_add(1, std::memory_order_acq_rel);
  return device.release();
}

void runtime_impl_t::free_device(device_impl_t* device) {
  if (device == default_device_.get()) {
    throw std::logic_error("lci: free_device: the default device is freed with its runtime");
  }
  if (!device->drained()) {
    throw std::logic_error(absl::StrCat("lci: free_device: operations are under way on device ",
                                        device->attr.uid, "; call wait_drained first"));
  }
  delete device;
  extra_devices_.fetch_sub(1, std::memory_order_acq_rel);
}

rcomp_t runtime_impl_t::reserve_rcomps(rcomp_t n) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  if (n > ~rcomp_t{0} - next_rcomp_) {
    throw std::invalid_argument(absl::StrCat("lci: reserve_rcomps: ", n, " more than are left"));
  }
  const rcomp_t first = next_rcomp_;
  next_rcomp_ += n;
  return first;
}

void runtime_impl_t::set_rcomp(rcomp_t rcomp, comp_impl_t* comp) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  if (rcomp == 0 || rcomp >= next_rcomp_) {
    throw std::invalid_argument(
        absl::StrCat("lci: rcomp ", rcomp, " was not given by register_rcomp or reserve_rcomps"));
  }
  if (comp != nullptr && rcomps_.get(rcomp) != nullptr) {
    throw std::logic_error(absl::StrCat("lci: register_rcomp: ", rcomp, " is in use"));
  }
  rcomps_.set(rcomp, comp);
}

comp_impl_t* runtime_impl_t::find_rcomp(rcomp_t rcomp, int sender) const {
  comp_impl_t* comp = rcomps_.get(rcomp);
  if (__builtin_expect(comp == nullptr, 0)) {
    throw std::runtime_error(absl::StrCat(
        "lci: rank ", rank(), " dropped a message of rank ", sender, " for remote completion ",
        rcomp, ", which is not registered here; register it before a barrier and send after it"));
  }
  return comp;
}

void* runtime_impl_t::allocate(size_t size, int sender) {
  if (size == 0) return nullptr;
  void* buffer = nullptr;
  try {
    buffer = allocator_->allocate(size);
  } catch (const std::exception&) {  // told below
  }
  if (__builtin_expect(buffer == nullptr, 0)) {
    throw std::runtime_error(absl::StrCat("lci: rank ", rank(), " has no memory for ", size,
                                          " bytes from rank ", sender));
  }
  return buffer;
}

}  // namespace lci
