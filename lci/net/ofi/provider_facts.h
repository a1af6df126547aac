// What is known of the providers of libfabric by their names.
//
// A provider is chosen by name (attribute ofi_provider_name, so LCI_ATTR_OFI_PROVIDER_NAME), else
// it is the first in the list
//   cxi, efa, psm3, opx, psm2, verbs, tcp, net, tcp;ofi_rxm, sockets
// that every rank offers; shm, udp and unknown providers are used only if there is none of these. A
// name may be that of the core ("tcp") or complete ("tcp;ofi_rxm").
#ifndef LCI_NET_OFI_PROVIDER_FACTS_H_
#define LCI_NET_OFI_PROVIDER_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lci::net::ofi {

// How puts and gets are executed.
enum class rma_mode {
  native,    // fi_write and fi_read: the target does nothing
  asked,     // the target checks that its memory is open, and then reads or writes the requester's;
             // small transfers travel inside the request or reply
  messages,  // all bytes travel with the request or the reply
};
// For people: "by the provider", "asked of the target" or "in messages".
const char* describe(rma_mode mode);

// A number of bytes for people. Providers without a limit report the largest number.
std::string describe_size(size_t bytes);

// `asked` for providers that end the connection, or never answer, at an access to memory that is
// not open (or no longer open): one wrong access would cut off the two ranks from each other for
// good. `native` for the others, which only report the error to the requester. Known from
// experiments or documentation.
rma_mode preferred_mode(std::string_view provider);

// Whether the completion of a send implies that of all earlier sends to the same rank, because they
// use one connection in order. Known from libfabric's documentation of the provider.
bool completes_in_order(std::string_view provider);

// Whether the provider is chosen without being named. `version`: fi_fabric_attr::prov_version. The
// provider net was under development before libfabric 1.17.
bool is_mature(std::string_view provider, uint32_t version);

// Whether the provider keeps posted receives in memory that grows: tcp and net, without a layer.
// Elsewhere fi_rx_attr::size is the most.
bool receives_grow(std::string_view provider);

// Whether the descriptor of a completion queue of the provider stays readable after the first
// completion, unless the queue is part of a wait set: net, and tcp without a layer, before
// libfabric 1.18.1. `version`: as for is_mature.
bool needs_wait_set(std::string_view provider, uint32_t version);

// Whether the provider writes bytes directly to TCP sockets of the kernel.
bool is_over_tcp(std::string_view provider);

// The largest message that the provider sends eagerly from memory that is not registered, so that
// memory for larger packets costs nothing until it is used. 0 for all other providers.
size_t eager_limit_of(std::string_view provider);

// The position in the list above: 0, 1, ...; smaller is better.
int preference(std::string_view provider);
// "tcp" of "tcp;ofi_rxm".
std::string_view core_of(std::string_view provider);
bool names(std::string_view asked_for, std::string_view provider);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PROVIDER_FACTS_H_
