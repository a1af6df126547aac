#include "lci/net/shm/descriptor_passing.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/boot/bootstrap.h"
#include "lci/testing/job/test_job.h"
#include "lci/testing/no_descriptors/no_descriptors.h"

namespace lci::net::shm {
namespace {

using boot::test_job;
using testing::HasSubstr;

// Memory that holds the number.
int make_file(int number) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  EXPECT_EQ(pwrite(file, &number, sizeof(number), 0), static_cast<ssize_t>(sizeof(number)));
  return file;
}

int number_in(int file) {
  int number = -1;
  EXPECT_EQ(pread(file, &number, sizeof(number), 0), static_cast<ssize_t>(sizeof(number)));
  return number;
}

// All ranks but this one.
std::vector<int> others(const boot::bootstrap& boot) {
  std::vector<int> ranks;
  for (int r = 0; r < boot.size(); ++r) {
    if (r != boot.rank()) ranks.push_back(r);
  }
  return ranks;
}

// A bootstrap that calls `met` with the values of the first collective before the caller has them.
class observed final : public boot::bootstrap {
 public:
  using observer = std::function<void(const std::vector<std::string>& values)>;
  observed(boot::bootstrap& of, observer met)
      : bootstrap(of.position(), of.default_timeout()), of_(of), met_(std::move(met)) {}

  std::string_view name() const override { return of_.name(); }
  std::string_view job_id() const override { return of_.job_id(); }
  base::Status put(std::string_view key, std::string_view value) override {
    return of_.put(key, value);
  }
  base::StatusOr<std::string> get(std::string_view key, duration timeout) override {
    return of_.get(key, timeout);
  }
  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override {
    auto values = of_.meet(what, name, value, timeout);
    if (values.ok() && met_ != nullptr) std::exchange(met_, nullptr)(*values);
    return values;
  }
  std::optional<int> first_lost() override { return of_.first_lost(); }
  void report_lost(int rank) override { of_.report_lost(rank); }
  void abort(std::string_view reason) override { of_.abort(reason); }

 private:
  boot::bootstrap& of_;
  observer met_;
};

// Every rank gives each other one a file with its number.
base::Status pass_to_all(boot::bootstrap& boot, std::atomic<int>* accepted = nullptr) {
  const int own = make_file(boot.rank());
  const base::Status status = pass_descriptors(boot, "step", {own}, others(boot),
                                               [&](int rank, const std::vector<int>& given) {
                                                 EXPECT_EQ(given.size(), 1u);
                                                 EXPECT_EQ(number_in(given[0]), rank);
                                                 if (accepted != nullptr) ++*accepted;
                                                 return base::OkStatus();
                                               });
  close(own);
  return status;
}

// The queue of a socket has room for fewer datagrams (net.unix.max_dgram_qlen).
TEST(DescriptorPassing, ManyRanks) {
  constexpr int ranks = 40;
  std::atomic<int> accepted{0};
  test_job(test_job::variant::in_process, ranks).run([&](boot::bootstrap& boot) {
    const base::Status status = pass_to_all(boot, &accepted);
    EXPECT_TRUE(status.ok()) << status;
  });
  EXPECT_EQ(accepted, ranks * (ranks - 1));
}

TEST(DescriptorPassing, TwoDescriptorsAndRanksWithoutPartners) {
  test_job(test_job::variant::in_process, 4).run([](boot::bootstrap& boot) {
    const int first = make_file(boot.rank());
    const int second = make_file(-boot.rank());
    const bool takes_part = boot.rank() % 2 == 1;
    std::vector<int> from;
    const base::Status status =
        pass_descriptors(boot, "step", {first, second},
                         takes_part ? std::vector<int>{4 - boot.rank()} : std::vector<int>(),
                         [&](int rank, const std::vector<int>& given) {
                           from.push_back(rank);
                           EXPECT_EQ(given.size(), 2u);
                           EXPECT_EQ(number_in(given[0]), rank);
                           EXPECT_EQ(number_in(given[1]), -rank);
                           return base::OkStatus();
                         });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(from, takes_part ? std::vector<int>{4 - boot.rank()} : std::vector<int>());
    close(first);
    close(second);
  });
}

// Any process of the machine may write to the sockets.
TEST(DescriptorPassing, DatagramsOfStrangersAreIgnored) {
  struct {
    uint64_t token;
    int32_t rank;
    int32_t descriptors;
  } forged = {12345, 0, 0};
  const auto disturb = [&](const std::vector<std::string>& values) {
    const int stranger = socket(AF_UNIX, SOCK_DGRAM, 0);
    for (const std::string& value : values) {
      const std::string address = value.substr(1 + sizeof(uint64_t));
      const auto send = [&](size_t size) {
        ASSERT_EQ(
            sendto(stranger, &forged, size, 0, reinterpret_cast<const sockaddr*>(address.data()),
                   static_cast<socklen_t>(address.size())),
            static_cast<ssize_t>(size));
      };
      send(1);
      send(0);
      for (forged.rank = -1; forged.rank < 4; ++forged.rank) send(sizeof(forged));
    }
    close(stranger);
  };
  std::atomic<int> accepted{0};
  test_job(test_job::variant::in_process, 3).run([&](boot::bootstrap& boot) {
    observed boot_of_rank(boot, boot.rank() == 0 ? observed::observer(disturb) : nullptr);
    const base::Status status = pass_to_all(boot_of_rank, &accepted);
    EXPECT_TRUE(status.ok()) << status;
  });
  EXPECT_EQ(accepted, 6);
}

TEST(DescriptorPassing, AnErrorOfOneIsAnErrorOfAll) {
  std::atomic<int> accepted{0};
  test_job(test_job::variant::in_process, 3).run([&](boot::bootstrap& boot) {
    const int own = make_file(boot.rank());
    const base::Status status =
        pass_descriptors(boot, "step", {own}, others(boot), [&](int rank, const auto&) {
          ++accepted;
          return boot.rank() == 1 && rank == 2 ? base::InternalError("no good") : base::OkStatus();
        });
    EXPECT_THAT(status.message(), HasSubstr("rank 2: no good"));
    close(own);
  });
  EXPECT_EQ(accepted, 6);
}

TEST(DescriptorPassing, NoRoomForDescriptors) {
  test_job job(test_job::variant::file, 2);
  const int failed = job.run_processes([&](int rank) {
    auto boot = job.connect(rank);
    EXPECT_TRUE(boot.ok()) << boot.status();
    if (!boot.ok()) return false;
    std::unique_ptr<no_descriptors> full;
    observed without_room(**boot, [&](const auto&) {
      if (rank == 1) full = std::make_unique<no_descriptors>();
    });
    const base::Status status = pass_to_all(without_room);
    full = nullptr;
    EXPECT_THAT(status.message(), HasSubstr("raise ulimit -n"));
    return true;
  });
  EXPECT_EQ(failed, 0);
}

TEST(DescriptorPassing, ARankThatEndsMeanwhileIsNotWaitedFor) {
  test_job job(test_job::variant::file, 3);
  const int failed = job.run_processes([&](int rank) {
    auto boot = job.connect(rank);
    EXPECT_TRUE(boot.ok()) << boot.status();
    if (!boot.ok()) return true;
    observed mortal(**boot, [&](const auto&) {
      if (rank == 1) raise(SIGKILL);
    });
    EXPECT_FALSE(pass_to_all(mortal).ok());
    return true;
  });
  EXPECT_EQ(failed, 1);
}

}  // namespace
}  // namespace lci::net::shm
