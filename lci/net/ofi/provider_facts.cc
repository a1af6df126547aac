#include "lci/net/ofi/provider_facts.h"

#include <rdma/fabric.h>

#include <algorithm>
#include <iterator>

#include "lci/base/strings.h"

namespace lci::net::ofi {
namespace {

// A layer over tcp (tcp;ofi_rxm) has more system calls than tcp and net, which do without.
constexpr std::string_view order[] = {"cxi", "efa", "psm3",        "opx",     "psm2", "verbs",
                                      "tcp", "net", "tcp;ofi_rxm", "sockets", "shm"};

bool is_tcp_without_layer(std::string_view provider) {
  return provider == "tcp" || provider == "net";
}

}  // namespace

std::string_view core_of(std::string_view provider) {
  return provider.substr(0, provider.find(';'));
}

bool names(std::string_view asked_for, std::string_view provider) {
  return asked_for == provider || asked_for == core_of(provider);
}

int preference(std::string_view provider) {
  const auto* found = std::find(std::begin(order), std::end(order), provider);
  if (found == std::end(order)) {
    found = std::find(std::begin(order), std::end(order), core_of(provider));
  }
  return static_cast<int>(found - std::begin(order));
}

std::string describe_size(size_t bytes) {
  return bytes == ~size_t{0} ? "not limited" : base::StrCat(bytes);
}

rma_mode preferred_mode(std::string_view provider) {
  const std::string_view core = core_of(provider);
  for (const std::string_view ends_connection : {"tcp", "net", "shm", "udp"}) {
    if (core == ends_connection) return rma_mode::asked;
  }
  return rma_mode::native;
}

bool completes_in_order(std::string_view provider) {
  const std::string_view core = core_of(provider);
  return core == "tcp" || core == "net" || core == "verbs";
}

bool is_mature(std::string_view provider, uint32_t version) {
  return provider != "net" || FI_MAJOR(version) >= 117;
}

bool receives_grow(std::string_view provider) { return is_tcp_without_layer(provider); }

bool needs_wait_set(std::string_view provider, uint32_t version) {
  return is_tcp_without_layer(provider) && FI_VERSION_LT(version, FI_VERSION(118, 10));
}

bool is_over_tcp(std::string_view provider) {
  const std::string_view core = core_of(provider);
  return core == "tcp" || core == "net";
}

const char* describe(rma_mode mode) {
  constexpr const char* texts[] = {"by the provider", "asked of the target", "in messages"};
  return texts[static_cast<size_t>(mode)];
}

size_t eager_limit_of(std::string_view provider) {
  if (!is_over_tcp(provider)) return 0;
  // The default of ofi_rxm's eager limit (FI_OFI_RXM_EAGER_LIMIT), which it does not report.
  if (base::StrContains(provider, "ofi_rxm")) return size_t{16} << 10;
  return SIZE_MAX;
}

}  // namespace lci::net::ofi
