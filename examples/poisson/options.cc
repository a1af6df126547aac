#include "examples/poisson/options.h"

#include <getopt.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace poisson {
namespace {

constexpr int most_points = 4096;
constexpr int most_iterations = 100000000;
constexpr int most_ranks = 65536;

const option long_options[] = {
    {"help", no_argument, nullptr, 'h'},
    {"grid", required_argument, nullptr, 'g'},
    {"iterations", required_argument, nullptr, 'i'},
    {"mode", required_argument, nullptr, 'm'},
    {"slabs", required_argument, nullptr, 's'},
    {"processes", required_argument, nullptr, 'p'},
    {"contrast", required_argument, nullptr, 'c'},
    {"fftw", required_argument, nullptr, 'f'},
    {"check", no_argument, nullptr, 'C'},
    {"report", no_argument, nullptr, 'r'},
    {"json", no_argument, nullptr, 'j'},
    {nullptr, 0, nullptr, 0},
};

// False unless it is a plain number between the bounds.
bool read_number(absl::string_view text, int low, int high, int* value) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return plain && absl::SimpleAtoi(text, value) && *value >= low && *value <= high;
}

int number(absl::string_view option, absl::string_view text, int low, int high) {
  int value = 0;
  if (!read_number(text, low, high, &value)) {
    throw usage_error(
        absl::StrCat("--", option, " ", text, ": must be a number from ", low, " to ", high));
  }
  return value;
}

grid_size grid(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, 'x');
  int n[3] = {};
  bool good = parts.size() == 1 || parts.size() == 3;
  for (size_t i = 0; i < 3 && good; ++i) {
    good = read_number(parts[parts.size() == 1 ? 0 : i], 1, most_points, &n[i]);
  }
  if (!good || n[0] % 2 != 0) {
    throw usage_error(absl::StrCat("--grid ", text, ": must be N or NXxNYxNZ, numbers from 1 to ",
                                   most_points, ", and the first even"));
  }
  return {n[0], n[1], n[2]};
}

process_grid processes(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, 'x');
  process_grid made;
  if (parts.size() != 2 || !read_number(parts[0], 1, most_ranks, &made.y) ||
      !read_number(parts[1], 1, most_ranks, &made.z)) {
    throw usage_error(absl::StrCat("--processes ", text, ": must be RYxRZ, such as 2x1"));
  }
  return made;
}

double contrast(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0 && value < 1)) {
    throw usage_error(absl::StrCat("--contrast ", text, ": must be from 0 to below 1"));
  }
  return value;
}

std::string names(const std::vector<mode>& modes) {
  std::string text;
  for (size_t i = 0; i < modes.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == modes.size() ? " or " : ", ", modes[i].name);
  }
  return text;
}

std::string mode_choice(absl::string_view text, const std::vector<mode>& modes) {
  const auto found =
      std::find_if(modes.begin(), modes.end(), [&](const mode& each) { return each.name == text; });
  if (found == modes.end()) {
    throw usage_error(absl::StrCat("--mode ", text, ": must be ", names(modes)));
  }
  return found->name;
}

planning planning_choice(absl::string_view text) {
  if (text == "estimate") return planning::estimate;
  if (text == "measure") return planning::measure;
  throw usage_error(absl::StrCat("--fftw ", text, ": must be estimate or measure"));
}

}  // namespace

options parse_options(int argc, char** argv, const std::vector<mode>& modes, bool* help) {
  *help = false;
  options chosen;
  chosen.mode = modes.front().name;
  // getopt's own messages would come from every rank, and ours say more.
  opterr = 0;
  optind = 0;
  for (int code; (code = getopt_long(argc, argv, ":h", long_options, nullptr)) != -1;) {
    switch (code) {
      case 'h':
        *help = true;
        return {};
      case 'g':
        chosen.grid = grid(optarg);
        break;
      case 'i':
        chosen.iterations = number("iterations", optarg, 1, most_iterations);
        break;
      case 'm':
        chosen.mode = mode_choice(optarg, modes);
        break;
      case 's':
        chosen.slabs = number("slabs", optarg, 1, most_points);
        break;
      case 'p':
        chosen.processes = processes(optarg);
        break;
      case 'c':
        chosen.contrast = contrast(optarg);
        break;
      case 'f':
        chosen.plan = planning_choice(optarg);
        break;
      case 'C':
        chosen.check = true;
        break;
      case 'r':
        chosen.report = true;
        break;
      case 'j':
        chosen.json = true;
        break;
      case ':':
        throw usage_error(absl::StrCat(argv[optind - 1], ": its value is missing"));
      default:
        throw usage_error(absl::StrCat("unknown option ", argv[optind - 1]));
    }
  }
  if (optind < argc) throw usage_error(absl::StrCat("unknown argument ", argv[optind]));
  return chosen;
}

std::string help_text(const std::string& start, const std::vector<mode>& modes) {
  std::string text = absl::StrCat(
      R"(Solves -div(k grad u) = f in a box, periodic in x and y, with u = 0 at both ends of z, by solving
Poisson equations: Fourier transforms in x and y, tridiagonal systems in z.

usage: )",
      start, R"( [options]

  --grid N|NXxNYxNZ     points in x, y and z; those in x are even (64)
  --iterations N        Poisson equations solved, each of which makes the error smaller by the factor
                        of the contrast (20)
  --mode HOW            how ranks communicate:
)");
  for (const mode& each : modes) {
    absl::StrAppend(&text, "                          ", each.name, ": ", each.meaning, "\n");
  }
  absl::StrAppend(
      &text,
      R"(  --slabs N             parts of each rank's planes that are worked on and sent one after the other (4)
  --processes RYxRZ     how many ranks y and z are divided between (as equal as can be, more in y)
  --contrast C          k is from 1-C to 1+C; 0: Poisson's equation, solved in one iteration (0.3)
  --fftw HOW            how FFTW finds its way: estimate or measure (measure)
  --check               compare with a sequential solution, which each rank computes: exit code 1 if
                        they differ
  --report              what the time is made of
  --json                one line of JSON instead of text
  --help                this text
)");
  return text;
}

}  // namespace poisson
