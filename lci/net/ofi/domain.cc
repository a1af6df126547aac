#include "lci/net/ofi/domain.h"

#include <algorithm>
#include <mutex>

#include "lci/base/strings.h"

namespace lci::net::ofi {

base::StatusOr<std::unique_ptr<domain>> domain::open(fid_fabric& fabric, const provider& from,
                                                     registration_count& count) {
  std::unique_ptr<domain> made(new domain(count));
  fid_domain* opened = nullptr;
  if (const int code = fi_domain(&fabric, from.info.get(), &opened, nullptr); code != 0) {
    return failure(base::StrCat("opening a domain of ", from.name()), code);
  }
  made->domain_.reset(opened);
  made->needs_local_ = (from.mr_mode() & FI_MR_LOCAL) != 0;
  made->by_address_ = (from.mr_mode() & FI_MR_VIRT_ADDR) != 0;
  made->binds_ = (from.mr_mode() & FI_MR_ENDPOINT) != 0;
  made->remote_ = from.rma != rma_mode::messages;
  return made;
}

domain::~domain() { remove_all(); }

void domain::remove_all() {
  for (size_t i = 0; i < used_; ++i) remove(static_cast<uint32_t>(i));
}

base::Status domain::add(const region_table::region& opened) {
  // An empty region is never accessed, and providers refuse it. Where all bytes travel in packets,
  // the provider sees no other memory.
  if (opened.size == 0 || !remote_) return base::OkStatus();
  if (base::Status none_left = count_.add(1); !none_left.ok()) return none_left;
  base::StatusOr<fid_ptr<fid_mr>> made =
      make(opened.address, opened.size, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
           opened.key, "bytes");
  if (!made.ok()) {
    count_.remove(1);
    return made.status();
  }
  const std::lock_guard<ds::spinlock> guard(lock);
  registrations_.set(opened.index, made->get());
  used_ = std::max<size_t>(used_, opened.index + size_t{1});
  static_cast<void>(made->release());
  return base::OkStatus();
}

base::StatusOr<fid_ptr<fid_mr>> domain::make(void* address, size_t size, uint64_t access,
                                             uint64_t key, const char* what) {
  const std::lock_guard<ds::spinlock> guard(lock);
  fid_mr* made = nullptr;
  int code = fi_mr_reg(domain_.get(), address, size, access, 0, key, 0, &made, nullptr);
  fid_ptr<fid_mr> owned(made);
  if (code == 0 && binds_ && endpoint_ != nullptr) {
    code = fi_mr_bind(made, &endpoint_->fid, 0);
    if (code == 0) code = fi_mr_enable(made);
  }
  if (code != 0) return failure(base::StrCat("registering ", size, " ", what), code);
  return owned;
}

void domain::remove(uint32_t index) {
  fid_mr* gone = registrations_.get(index);
  if (gone == nullptr) return;
  const std::lock_guard<ds::spinlock> guard(lock);
  registrations_.set(index, nullptr);
  fi_close(&gone->fid);
  count_.remove(1);
}

base::StatusOr<fid_ptr<fid_mr>> domain::register_local(void* address, size_t size, uint64_t key) {
  if (!needs_local_) return fid_ptr<fid_mr>();
  return make(address, size, FI_SEND | FI_RECV, key, "bytes of packets");
}

uint64_t domain::key(uint32_t index) const {
  fid_mr* registration = registrations_.get(index);
  return registration == nullptr ? 0 : fi_mr_key(registration);
}

}  // namespace lci::net::ofi
