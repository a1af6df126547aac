// Ranks that talk to all others, in few bytes and in many, and never stop by themselves: what they
// find out when some of them are gone.
//   talk DIR R...     makes the file DIR/<rank> when it has heard from all; ends when errors
//                     have named each of the ranks R
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "lci.hpp"

namespace {

constexpr size_t many = size_t{256} << 10;
constexpr int64_t most_open = 8;

std::set<int> heard;

void on_message(lci::status_t status) {
  heard.insert(status.get_rank());
  std::free(status.get_buffer());
}

class talker {
 public:
  explicit talker(std::set<int> awaited) : awaited_(std::move(awaited)), bytes_(many) {
    handler_ = lci::alloc_handler(on_message);
    name_ = lci::register_rcomp(handler_);
    sent_ = lci::alloc_counter();
    lci::barrier();
  }

  // Until all that are awaited are gone.
  void run(const std::string& file) {
    bool has_replied = false;
    while (!awaited_.empty()) {
      for (int rank = 0; rank < lci::get_rank_n(); ++rank) {
        if (rank != lci::get_rank_me() && gone_.count(rank) == 0) guarded([&] { talk_to(rank); });
      }
      guarded([] { lci::progress(); });
      if (!has_replied && heard.size() + 1 == static_cast<size_t>(lci::get_rank_n())) {
        std::ofstream(file) << "all heard\n";
        has_replied = true;
      }
    }
  }

 private:
  void talk_to(int rank) {
    int64_t number = posted_;
    static_cast<void>(lci::post_am_x(rank, &number, sizeof(number), lci::COMP_NULL, name_)());
    if (posted_ - lci::counter_get(sent_) >= most_open) return;
    const lci::status_t status =
        lci::post_am_x(rank, bytes_.data(), many, sent_, name_).allow_done(false)();
    if (status.is_posted()) ++posted_;
  }
  template <class Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const lci::peer_failure_error& error) {
      if (!gone_.insert(error.failed_rank()).second) return;
      std::printf("rank %d: %s\n", lci::get_rank_me(), error.what());
      std::fflush(stdout);
      awaited_.erase(error.failed_rank());
    }
  }

  std::set<int> awaited_;
  std::set<int> gone_;
  std::vector<char> bytes_;
  lci::comp_t handler_;
  lci::rcomp_t name_;
  lci::comp_t sent_;
  int64_t posted_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::set<int> awaited;
  for (int i = 2; i < argc; ++i) awaited.insert(std::atoi(argv[i]));
  if (awaited.empty()) return 2;
  try {
    lci::g_runtime_init();
    talker(awaited).run(std::string(argv[1]) + "/" + std::to_string(lci::get_rank_me()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "talk: %s\n", error.what());
    return 1;
  }
  // Operations that are still open can't end any more.
  std::_Exit(0);
}
