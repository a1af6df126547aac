#include "tools/info/job.h"

#include <algorithm>
#include <exception>
#include <memory>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/boot/scoped.h"
#include "lci/runtime/core/attributes.h"
#include "lci/runtime/core/common_settings.h"
#include "lci/runtime/instance/runtime.h"
#include "tools/info/print.h"

namespace lci::info {
namespace {

std::string reason_of(const boot::job_position& position, const global_attr_t& attr) {
  if (attr.backend != attr_backend_t::none) return "LCI_ATTR_BACKEND says so";
  return position.local_size == position.size
             ? "all ranks are on one host, and no usable backend is preferred to it there"
             : "the ranks are on several hosts";
}

runtime_attr_t runtime_part(const global_attr_t& of) {
  runtime_attr_t part;
#define LCI_INFO_COPY(type_, name_, default_, doc_) part.name_ = of.name_;
  LCI_RUNTIME_ATTRS(LCI_INFO_COPY)
#undef LCI_INFO_COPY
  return part;
}

// Starts a runtime as a program would.
void start(boot::bootstrap& boot, job_info* job) {
  const base::StatusOr<global_attr_t> attr = rt::attributes_from_environment();
  try {
    const auto runtime = std::make_unique<runtime_impl_t>(
        std::make_unique<boot::scoped_bootstrap>(boot, "info"), runtime_part(*attr), attr.value());
    job->network = runtime->default_net_context()->net->description();
    job->reason = reason_of(boot.position(), *attr);
    // Nobody ends while others still start.
    static_cast<void>(boot.barrier("started", boot.default_timeout()));
  } catch (const std::exception& error) {
    job->reason = error.what();
  }
}

}  // namespace

base::StatusOr<job_info> collect_job(boot::bootstrap& boot, const base::StatusOr<info>& own) {
  rt::common_settings all;
  if (own.ok()) {
    for (const attribute_info& each : own->attributes) all.attribute(each.name, each.value);
  }
  const auto found = all.exchange(boot, "attributes", own.status());
  if (!found.ok()) return found.status();
  job_info job;
  job.hosts = found->hosts;
  job.differences = found->differences;
  start(boot, &job);
  return job;
}

std::string as_text(const job_info& job) {
  std::string text = base::StrCat("Job of ", job.hosts.size(), " ranks\n");
  for (size_t r = 0; r < job.hosts.size();) {
    const auto begin = job.hosts.begin() + static_cast<std::ptrdiff_t>(r);
    const auto end = std::find_if(begin, job.hosts.end(),
                                  [&](const std::string& host) { return host != *begin; });
    std::vector<int> ranks;
    for (; r < static_cast<size_t>(end - job.hosts.begin()); ++r) {
      ranks.push_back(static_cast<int>(r));
    }
    base::StrAppend(&text, "  ", base::rank_list(ranks), " on ", *begin, "\n");
  }
  const std::string network = job.network.empty()
                                  ? base::StrCat("does not start: ", job.reason)
                                  : base::StrCat("network: ", job.network, ", since ", job.reason);
  base::StrAppend(
      &text, wrapped(network, 2, text_width), "\n",
      wrapped(job.differences.empty() ? "attributes: the same on all ranks"
                                      : base::StrCat("attributes that differ: ", job.differences),
              2, text_width),
      "\n");
  return text;
}

std::string as_json(const job_info& job) {
  std::string hosts;
  for (const std::string& host : job.hosts) {
    base::StrAppend(&hosts, hosts.empty() ? "" : ", ", base::JsonQuote(host));
  }
  return base::StrCat("{\"hosts\": [", hosts, "], ", pair("network", job.network), ", ",
                      pair("reason", job.reason), ", ", pair("differences", job.differences), "}");
}

}  // namespace lci::info
