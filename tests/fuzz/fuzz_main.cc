// Runs a fuzz target of libFuzzer's interface without libFuzzer, as an ordinary test: each file of
// the seed corpus, and mutations of them that are the same in every run.
//
//   target [--runs N] [--seed N] FILE...
//
// With clang, libFuzzer itself takes the place of this file: build the target with
// -fsanitize=fuzzer,address, and run `target CORPUS_DIRECTORY`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using input = std::vector<uint8_t>;

void run(const input& bytes) { LLVMFuzzerTestOneInput(bytes.data(), bytes.size()); }

class mutator {
 public:
  mutator(const std::vector<input>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

  input next() {
    input made = corpus_[below(corpus_.size())];
    for (uint64_t changes = 1 + below(4); changes > 0; --changes) change(&made);
    return made;
  }

 private:
  uint64_t below(uint64_t end) { return end == 0 ? 0 : random_() % end; }
  static constexpr uint8_t boundaries[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', '-', '\n', '='};

  void change(input* bytes) {
    const size_t at = below(bytes->size() + 1);
    const auto from = bytes->begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
      case 0:
        if (at < bytes->size()) *from = static_cast<uint8_t>(random_());
        break;
      case 1:
        if (at < bytes->size()) *from = boundaries[below(std::size(boundaries))];
        break;
      case 2:
        bytes->insert(from, static_cast<uint8_t>(random_()));
        break;
      case 3:
        bytes->erase(from, bytes->end());
        break;
      case 4: {  // a part of another input
        const input& other = corpus_[below(corpus_.size())];
        const size_t begin = below(other.size());
        const size_t count = below(std::min<size_t>(other.size() - begin + 1, 64));
        const auto first = other.begin() + static_cast<std::ptrdiff_t>(begin);
        bytes->insert(from, first, first + static_cast<std::ptrdiff_t>(count));
        break;
      }
      default:  // an extreme number
        for (size_t i = at; i < std::min(at + 8, bytes->size()); ++i) {
          (*bytes)[i] = below(2) == 0 ? 0xff : 0;
        }
    }
  }

  const std::vector<input>& corpus_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  uint64_t runs = 20000;
  uint64_t seed = 1;
  std::vector<input> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--runs" || word == "--seed") && i + 1 < argc) {
      (word == "--runs" ? runs : seed) = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    std::ifstream file(word, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s cannot be read\n", word.c_str());
      return 2;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s [--runs N] [--seed N] FILE...\n", argv[0]);
    return 2;
  }
  run({});
  for (const input& each : corpus) run(each);
  mutator made(corpus, seed);
  for (uint64_t i = 0; i < runs; ++i) run(made.next());
  std::printf("%zu inputs and %llu mutations\n", corpus.size(),
              static_cast<unsigned long long>(runs));
}
