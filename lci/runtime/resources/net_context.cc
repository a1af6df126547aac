#include "lci/runtime/resources/net_context.h"

#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/runtime/core/attribute_names.h"
#include "lci/runtime/core/common_settings.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/core/throw.h"

namespace lci {
namespace {

// Compares the attributes of a context on which all ranks must agree.
void compare_with_peers(boot::bootstrap& boot, const net_context_attr_t& attr,
                        const base::StatusOr<const net::backend_entry*>& backend) {
  rt::common_settings settings;
  if (backend.ok()) add_settings(**backend, attr, device_attr_t(), &settings);
  const auto met = settings.meet(boot, "settings", backend.status());
  if (!met.ok()) rt::throw_start_failure(boot, "", met.status());
}

// The error of a backend that has made no context, or one whose name no backend has.
base::Status wrong_context(const net::context* made) {
  if (made == nullptr) return base::InternalError("it made no context, and gave no error");
  return base::InternalError(
      base::StrCat("it made a context with the name ", made->name(), ", which no backend has"));
}

std::unique_ptr<net::context> attach(boot::bootstrap& boot, int number, net_context_attr_t* attr) {
  const auto backend = choose_backend(boot.position(), attr->backend);
  if (number != 0) compare_with_peers(boot, *attr, backend);
  // It was available when the ranks compared their settings, but descriptors may have run out since.
  if (!backend.ok()) rt::throw_start_failure(boot, "", backend.status());
  const net::backend_entry* const entry = *backend;
  auto network = entry->make(boot, *attr);
  const net::backend_entry* made = nullptr;
  base::Status status = network.status();
  if (status.ok()) {
    made = *network == nullptr ? nullptr : net::find_backend((*network)->name());
    if (made == nullptr) status = wrong_context(network->get());
  }
  if (!status.ok()) {
    rt::throw_start_failure(
        boot, base::StrCat("rank ", boot.rank(), " can't use backend ", entry->name), status);
  }
  attr->backend = net::id_of(*made);
  return *std::move(network);
}

}  // namespace

base::StatusOr<const net::backend_entry*> choose_backend(const boot::job_position& position,
                                                         attr_backend_t wanted) {
  const net::backend_entry* entry = net::find_backend(wanted, position.local_size == position.size);
  if (entry != nullptr && entry->available()) return entry;
  std::string why;
  if (entry == nullptr) {
    why = base::StrCat("backend ", rt::attribute_text(wanted),
                       " (LCI_ATTR_BACKEND) is not part of this library, which has");
    for (const net::backend_entry* each : net::list_backends()) {
      base::StrAppend(&why, " ", each->name);
    }
  } else {
    why =
        base::StrCat("backend ", entry->name, " (LCI_ATTR_BACKEND) is not available on this host");
    if (entry->describe != nullptr) {
      const base::Status reason = entry->describe().status();  // maybe none: a second look
      if (!reason.ok()) base::StrAppend(&why, ": ", reason.message());
    }
  }
  return base::FailedPreconditionError(
      base::StrCat(why, "; leave it unset for the default", base::descriptor_hint()));
}

void add_settings(const net::backend_entry& backend, const net_context_attr_t& attr,
                  const device_attr_t& devices, rt::common_settings* to) {
  to->attribute("backend", backend.name);
  if (backend.common == nullptr) return;
  for (const net::backend_fact& each : backend.common(attr, devices)) {
    to->attribute(each.name, each.value);
  }
}

net_context_impl_t::net_context_impl_t(rt::rank_state& own_state,
                                       const net_context_attr_t& attributes,
                                       std::unique_ptr<boot::bootstrap> boot, int own_number)
    : boot_(std::move(boot)),
      state(own_state),
      runtime(own_state.owner),
      attr(attributes),
      number(own_number),
      net(attach(*boot_, own_number, &attr)) {
  if (attr.max_msg_size == 0) {
    rt::throw_invalid_argument("attribute max_msg_size is 0, not at least 1");
  }
  state.net_contexts().add(this);
}

net_context_impl_t::~net_context_impl_t() {
  state.net_contexts().remove(this, [] {});
}

}  // namespace lci
