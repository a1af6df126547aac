#include "examples/poisson/compare/mpi_transport.h"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

namespace poisson {
namespace {

int to_int(size_t bytes) {
  if (bytes > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw std::runtime_error("a message has more bytes than MPI can count");
  }
  return static_cast<int>(bytes);
}

// MPI_Isend, MPI_Irecv.

class message_exchange final : public packing_exchange {
 public:
  message_exchange(const pattern& messages, const transport& owner, work_clock& clock, int number)
      : packing_exchange(messages, owner, clock), number_(number) {}

 private:
  void send() override {
    requests_.clear();
    for (const packed& each : receives()) {
      MPI_Irecv(incoming() + each.offset, to_int(each.size), MPI_BYTE, each.peer,
                number_ * 16 + each.tag, MPI_COMM_WORLD, &requests_.emplace_back());
    }
    for (const packed& each : sends()) {
      MPI_Isend(outgoing() + each.offset, to_int(each.size), MPI_BYTE, each.peer,
                number_ * 16 + each.tag, MPI_COMM_WORLD, &requests_.emplace_back());
    }
  }
  void receive() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  const int number_;
  std::vector<MPI_Request> requests_;
};

// MPI_Alltoallv.

class transposing_exchange final : public packing_exchange {
 public:
  // `row`: the ranks of messages.all_to_all, in this order.
  transposing_exchange(const pattern& messages, const transport& owner, work_clock& clock,
                       MPI_Comm row, bool posts_in_send)
      : packing_exchange(messages, owner, clock), row_(row), posts_in_send_(posts_in_send) {
    const auto place = [&](const std::vector<packed>& all, std::vector<int>* counts,
                           std::vector<int>* displacements) {
      counts->assign(messages.all_to_all.size(), 0);
      displacements->assign(messages.all_to_all.size(), 0);
      for (const packed& each : all) {
        const auto i = static_cast<size_t>(
            std::find(messages.all_to_all.begin(), messages.all_to_all.end(), each.peer) -
            messages.all_to_all.begin());
        (*counts)[i] = to_int(each.size);
        (*displacements)[i] = to_int(each.offset);
      }
    };
    place(sends(), &send_counts_, &send_displacements_);
    place(receives(), &receive_counts_, &receive_displacements_);
  }

 private:
  void send() override {
    if (!posts_in_send_) return;
    MPI_Ialltoallv(outgoing(), send_counts_.data(), send_displacements_.data(), MPI_BYTE,
                   incoming(), receive_counts_.data(), receive_displacements_.data(), MPI_BYTE,
                   row_, &request_);
  }
  void receive() override {
    if (posts_in_send_) {
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
    } else {
      MPI_Alltoallv(outgoing(), send_counts_.data(), send_displacements_.data(), MPI_BYTE,
                    incoming(), receive_counts_.data(), receive_displacements_.data(), MPI_BYTE,
                    row_);
    }
  }

  const MPI_Comm row_;
  const bool posts_in_send_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<int> send_counts_, send_displacements_, receive_counts_, receive_displacements_;
};

// MPI_Put.

// Its own window, which is opened for the next round as soon as the last one has been unpacked, so
// that MPI_Win_start finds it open.
class window_exchange final : public packing_exchange {
 public:
  window_exchange(const pattern& messages, const transport& owner, work_clock& clock)
      : packing_exchange(messages, owner, clock, /*receives_in_place=*/false) {
    void* memory = nullptr;
    MPI_Win_allocate(static_cast<MPI_Aint>(std::max<size_t>(incoming_size(), 1)), 1, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &window_);
    receive_into(static_cast<char*>(memory));
    sources_ = group_of(receives());
    targets_ = group_of(sends());
    // Each sender learns where its messages go.
    std::vector<MPI_Request> requests;
    std::vector<long long> offsets;
    for (const packed& each : receives()) offsets.push_back(static_cast<long long>(each.offset));
    for (size_t i = 0; i < offsets.size(); ++i) {
      MPI_Isend(&offsets[i], 1, MPI_LONG_LONG, receives()[i].peer, receives()[i].tag,
                MPI_COMM_WORLD, &requests.emplace_back());
    }
    for (const packed& each : sends()) {
      MPI_Recv(&offsets_.emplace_back(), 1, MPI_LONG_LONG, each.peer, each.tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    open();
  }
  // Collective. The last round that was opened is one without puts.
  ~window_exchange() override {
    if (!sends().empty()) {
      MPI_Win_start(targets_, 0, window_);
      MPI_Win_complete(window_);
    }
    if (!receives().empty()) MPI_Win_wait(window_);
    MPI_Group_free(&sources_);
    MPI_Group_free(&targets_);
    MPI_Win_free(&window_);
  }

 private:
  static MPI_Group group_of(const std::vector<packed>& messages) {
    std::vector<int> peers;
    for (const packed& each : messages) peers.push_back(each.peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    MPI_Group world, made;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(peers.size()), peers.data(), &made);
    MPI_Group_free(&world);
    return made;
  }
  void open() {
    if (!receives().empty()) MPI_Win_post(sources_, 0, window_);
  }
  void send() override {
    if (sends().empty()) return;
    MPI_Win_start(targets_, 0, window_);
    for (size_t i = 0; i < sends().size(); ++i) {
      const packed& each = sends()[i];
      const int size = to_int(each.size);
      MPI_Put(outgoing() + each.offset, size, MPI_BYTE, each.peer,
              static_cast<MPI_Aint>(offsets_[i]), size, MPI_BYTE, window_);
    }
    MPI_Win_complete(window_);
  }
  void receive() override {
    if (!receives().empty()) MPI_Win_wait(window_);
  }
  void unpacked() override { open(); }

  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Group sources_ = MPI_GROUP_NULL;
  MPI_Group targets_ = MPI_GROUP_NULL;
  std::vector<long long> offsets_;
};

// The transport.

class mpi_transport final : public transport {
 public:
  explicit mpi_transport(mpi_way way) : way_(way) {}
  ~mpi_transport() override {
    for (auto& each : rows_) MPI_Comm_free(&each.second);
  }
  int rank() const override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  int ranks() const override {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
  }
  int allocate(size_t bytes) override { return memory_.allocate(bytes); }
  char* address(int region) const override { return memory_.address(region); }
  std::unique_ptr<exchange> connect(const pattern& messages, work_clock& clock) override {
    if (way_ == mpi_way::pscw) return std::make_unique<window_exchange>(messages, *this, clock);
    if (messages.all_to_all.empty()) {
      return std::make_unique<message_exchange>(messages, *this, clock, exchanges_++);
    }
    return std::make_unique<transposing_exchange>(
        messages, *this, clock, row_of(messages.all_to_all), way_ == mpi_way::ialltoallv);
  }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  double maximum(double value) override {
    double largest = 0;
    MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
  }

 private:
  MPI_Comm row_of(const std::vector<int>& ranks) {
    const auto found = rows_.find(ranks);
    if (found != rows_.end()) return found->second;
    MPI_Group world, group;
    MPI_Comm made;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    rows_.emplace(ranks, made);
    return made;
  }

  const mpi_way way_;
  local_transport memory_;
  std::map<std::vector<int>, MPI_Comm> rows_;
  int exchanges_ = 0;
};

}  // namespace

std::unique_ptr<transport> make_mpi_transport(mpi_way way) {
  return std::make_unique<mpi_transport>(way);
}

}  // namespace poisson
