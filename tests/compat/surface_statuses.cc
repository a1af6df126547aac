// error_t and status_t.
#include "surface.h"

#define CATEGORY(code_, done_, posted_, retry_)                            \
  CHECK(lci::error_t(lci::errorcode_t::code_).is_done() == (done_) &&      \
        lci::error_t(lci::errorcode_t::code_).is_posted() == (posted_) &&  \
        lci::error_t(lci::errorcode_t::code_).is_retry() == (retry_));     \
  CHECK(lci::status_t(lci::errorcode_t::code_).is_done() == (done_) &&     \
        lci::status_t(lci::errorcode_t::code_).is_posted() == (posted_) && \
        lci::status_t(lci::errorcode_t::code_).is_retry() == (retry_))

void surface::check_statuses() {
  using lci::errorcode_t;

  CATEGORY(done_min, false, false, false);
  CATEGORY(done, true, false, false);
  CATEGORY(done_backlog, true, false, false);
  CATEGORY(done_max, false, false, false);
  CATEGORY(posted_min, false, false, false);
  CATEGORY(posted, false, true, false);
  CATEGORY(posted_backlog, false, true, false);
  CATEGORY(posted_max, false, false, false);
  CATEGORY(retry_min, false, false, false);
  CATEGORY(retry, false, false, true);
  CATEGORY(retry_init, false, false, true);
  CATEGORY(retry_lock, false, false, true);
  CATEGORY(retry_nopacket, false, false, true);
  CATEGORY(retry_nomem, false, false, true);
  CATEGORY(retry_backlog, false, false, true);
  CATEGORY(retry_max, false, false, false);
  CATEGORY(fatal, false, false, false);

  CHECK(lci::error_t().errorcode == errorcode_t::retry_init);
  CHECK(std::is_convertible_v<errorcode_t, lci::error_t>);
  lci::error_t error = errorcode_t::done;
  CHECK(error.errorcode == errorcode_t::done);
  CHECK(std::strcmp(error.get_str(), "done") == 0);
  error.reset_retry();
  CHECK(error.errorcode == errorcode_t::retry);
  error = errorcode_t::posted;
  CHECK(error.is_posted());

  lci::status_t status;
  CHECK(status.error.errorcode == errorcode_t::retry_init);
  CHECK(status.rank == -1);
  CHECK(status.buffer == nullptr);
  CHECK(status.size == 0);
  CHECK(status.tag == 0);
  CHECK(status.user_context == nullptr);
  CHECK(std::is_same_v<decltype(status.error), lci::error_t>);
  CHECK(std::is_same_v<decltype(status.rank), int>);
  CHECK(std::is_same_v<decltype(status.buffer), void*>);
  CHECK(std::is_same_v<decltype(status.size), size_t>);
  CHECK(std::is_same_v<decltype(status.tag), lci::tag_t>);
  CHECK(std::is_same_v<decltype(status.user_context), void*>);
  CHECK(std::is_convertible_v<errorcode_t, lci::status_t>);
  CHECK(std::is_trivially_copyable_v<lci::status_t>);

  status.set_done();
  CHECK(status.is_done());
  status.set_posted();
  CHECK(status.is_posted());
  status.set_retry();
  CHECK(status.is_retry());
  CHECK(status.error.errorcode == errorcode_t::retry);
  status = errorcode_t::done_backlog;
  CHECK(status.error.errorcode == errorcode_t::done_backlog);

  int context = 0;
  char bytes[2] = {};
  status.rank = 4;
  status.buffer = bytes;
  status.size = sizeof(bytes);
  status.tag = 7;
  status.user_context = &context;
  const lci::status_t same = status;
  CHECK(same.get_error().errorcode == errorcode_t::done_backlog);
  CHECK(same.get_rank() == 4);
  CHECK(same.get_buffer() == bytes);
  CHECK(same.get_size() == sizeof(bytes));
  CHECK(same.get_tag() == 7);
  CHECK(same.get_user_context() == &context);

  // The status of something that is done and only has a context: of a node of a graph.
  CHECK(std::is_constructible_v<lci::status_t, void*>);
  CHECK(!std::is_convertible_v<void*, lci::status_t>);
  const lci::status_t of_context(static_cast<void*>(&context));
  CHECK(of_context.is_done());
  CHECK(of_context.get_user_context() == &context);
  CHECK(of_context.get_rank() == -1);
  CHECK(of_context.get_buffer() == nullptr);
}
