// For tests of what happens when packets to an address are dropped, as by a firewall.
#ifndef LCI_TESTING_SILENT_PORT_SILENT_PORT_H_
#define LCI_TESTING_SILENT_PORT_SILENT_PORT_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lci/io/socket.h"
#include "lci/io/unique_fd.h"

namespace lci {

// A port of this host. A process that connects to it gets no answer, because the queue of the
// socket that listens there is full.
class silent_port {
 public:
  silent_port() : listener_(*io::listen_on("127.0.0.1:0")) {
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    // The kernel takes one connection more than the queue may have, and ignores the others.
    for (int i = 0; i < 3; ++i) {
      queue_.push_back(std::move((*io::begin_connecting(address()))[0]));
    }
  }
  silent_port(const silent_port&) = delete;
  silent_port& operator=(const silent_port&) = delete;

  std::string address() const { return *io::local_address(listener_.get()); }

 private:
  const io::unique_fd listener_;
  std::vector<io::unique_fd> queue_;
};

}  // namespace lci

#endif  // LCI_TESTING_SILENT_PORT_SILENT_PORT_H_
