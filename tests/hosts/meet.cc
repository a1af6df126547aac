// A rank that only bootstraps: what lcrun does over hosts shows without a network between the
// ranks.
//   meet              everybody meets, and says what it has heard from everybody
//   meet stay DIR     meets, makes the file DIR/<rank> with its pid, and stays until it is killed
//   meet fail R DIR   meets, makes the file, and stays; rank R ends with exit code 3
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "lci/base/strings.h"
#include "lci/boot/bootstrap.h"

namespace {

int fail(const lci::base::Status& status) {
  std::fprintf(stderr, "meet: %s\n", status.ToString().c_str());
  return 1;
}

[[noreturn]] void stay(const std::string& dir, int rank) {
  const std::string file = lci::base::StrCat(dir, "/", rank);
  // Scripts wait for the file and read it at once: it gets its name when it is whole.
  const std::string unfinished = file + ".new";
  std::ofstream(unfinished) << getpid() << "\n";
  if (std::rename(unfinished.c_str(), file.c_str()) != 0) std::perror("meet: rename");
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  lci::base::StatusOr<std::unique_ptr<lci::boot::bootstrap>> made = lci::boot::make_bootstrap();
  if (!made.ok()) return fail(made.status());
  lci::boot::bootstrap& job = **made;
  const lci::base::Status put = job.put(lci::base::StrCat("square of ", job.rank()),
                                        lci::base::StrCat(job.rank() * job.rank()));
  if (!put.ok()) return fail(put);
  const auto heard = job.allgather(
      "local", lci::base::StrCat(job.position().local_rank, "/", job.position().local_size),
      job.default_timeout());
  if (!heard.ok()) return fail(heard.status());
  const auto square = job.get(lci::base::StrCat("square of ", (job.rank() + 1) % job.size()),
                              job.default_timeout());
  if (!square.ok()) return fail(square.status());
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "stay") stay(argv[2], job.rank());
  if (what == "fail") {
    if (job.rank() == std::atoi(argv[2])) std::_Exit(3);
    stay(argv[3], job.rank());
  }
  std::printf("rank %d of %d: %s, next squared %s\n", job.rank(), job.size(),
              lci::base::StrJoin(*heard, " ").c_str(), square->c_str());
  return 0;
}
