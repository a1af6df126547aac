#include "examples/poisson/options.h"

#include <string_view>

namespace poisson {
namespace {

constexpr int most_points = 4096;
constexpr int most_iterations = 100000000;
constexpr int most_ranks = 65536;

constexpr cli::word<planning> plannings[] = {{"estimate", planning::estimate},
                                             {"measure", planning::measure}};

// Numbers from 1 to `high` with "x" between them. False if there are none, or more than `most`.
bool read_dimensions(std::string_view text, size_t most, int high, std::vector<int>* to) {
  to->clear();
  while (to->size() < most) {
    const size_t end = text.find('x');
    uint64_t number = 0;
    if (!cli::read_number(text.substr(0, end), 1, static_cast<uint64_t>(high), &number)) break;
    to->push_back(static_cast<int>(number));
    if (end == text.npos) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

cli::value grid(grid_size* to) {
  cli::value made;
  made.allowed =
      "N or NXxNYxNZ, numbers from 1 to " + std::to_string(most_points) + ", and the first even";
  made.initial = std::to_string(to->x);
  made.set = [to](std::string_view text) {
    std::vector<int> n;
    if (!read_dimensions(text, 3, most_points, &n) || n.size() == 2 || n[0] % 2 != 0) return false;
    *to = {n[0], n.size() == 1 ? n[0] : n[1], n.size() == 1 ? n[0] : n[2]};
    return true;
  };
  return made;
}

cli::value processes(std::optional<process_grid>* to) {
  cli::value made;
  made.allowed = "RYxRZ, such as 2x1";
  made.initial = "as equal as can be, more in y";
  made.set = [to](std::string_view text) {
    std::vector<int> n;
    if (!read_dimensions(text, 2, most_ranks, &n) || n.size() != 2) return false;
    process_grid grid;
    grid.y = n[0];
    grid.z = n[1];
    *to = grid;
    return true;
  };
  return made;
}

cli::value contrast(double* to) {
  cli::value made = cli::real(0, 1, to);
  made.allowed = "from 0 to below 1";
  made.set = [to, set = made.set](std::string_view text) {
    const double before = *to;
    if (!set(text)) return false;
    if (*to < 1) return true;
    *to = before;
    return false;
  };
  return made;
}

cli::command command_of(const std::string& start, const std::vector<mode>& modes, options* chosen) {
  chosen->mode = modes.front().name;
  std::vector<cli::word<std::string>> mode_words;
  for (const mode& each : modes) {
    mode_words.push_back({each.name.c_str(), each.name, each.meaning.c_str()});
  }
  return {
      start + " [options]",
      "Solves -div(k grad u) = f in a box, periodic in x and y, with u = 0 at both ends of z, by "
      "solving Poisson equations: Fourier transforms in x and y, tridiagonal systems in z.",
      {
          {"--grid", "N|NXxNYxNZ", "points in x, y and z; those in x are even",
           grid(&chosen->grid)},
          {"--iterations", "N",
           "Poisson equations solved, each of which makes the error smaller by the factor of the "
           "contrast",
           cli::number(1, most_iterations, &chosen->iterations)},
          {"--mode", "HOW", "how ranks communicate", cli::choice(mode_words, &chosen->mode)},
          {"--slabs", "N",
           "parts of each rank's planes that are worked on and sent one after the other",
           cli::number(1, most_points, &chosen->slabs)},
          {"--processes", "RYxRZ", "how many ranks y and z are divided between",
           processes(&chosen->processes)},
          {"--contrast", "C",
           "k is from 1-C to 1+C; 0: Poisson's equation, solved in one iteration",
           contrast(&chosen->contrast)},
          {"--fftw", "HOW", "how FFTW plans a transform", cli::choice(plannings, &chosen->plan)},
          {"--check", "",
           "compare with a sequential solution, which each rank computes: exit code 1 if they "
           "differ",
           cli::flag(&chosen->check)},
          {"--report", "", "how the time is spent", cli::flag(&chosen->report)},
          {"--json", "", "one line of JSON instead of text", cli::flag(&chosen->json)},
      }};
}

}  // namespace

options parse_options(int argc, char** argv, const std::vector<mode>& modes, bool* help) {
  options chosen;
  *help = cli::parse(command_of("", modes, &chosen), argc, argv).wanted == cli::request::help;
  return chosen;
}

std::string help_text(const std::string& start, const std::vector<mode>& modes) {
  options defaults;
  return cli::help(command_of(start, modes, &defaults));
}

}  // namespace poisson
