#include "examples/kmer/count_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/kmer/bin_counter.h"
#include "examples/kmer/distributor.h"
#include "examples/kmer/input.h"
#include "examples/kmer/kmer_bins.h"
#include "examples/kmer/output.h"
#include "examples/kmer/phases.h"
#include "examples/kmer/progress_bar.h"

namespace kmer {
namespace {

using clock = std::chrono::steady_clock;

// Small enough that each thread gets several pieces of the input, to even out their speeds.
size_t choose_chunk_bytes(const std::vector<input_file>& files, int ranks, int threads) {
  uint64_t bytes = 0;
  for (const input_file& file : files) bytes += file.size;
  const uint64_t pieces = 8 * static_cast<uint64_t>(ranks) * static_cast<uint64_t>(threads);
  return std::clamp<size_t>(bytes / pieces, 64 << 10, 1 << 20);
}

// Of each rank. The table of a bin then fits into the second cache of a processor, also if most of
// its k-mers differ.
size_t choose_bins(const std::vector<input_file>& files, int ranks) {
  constexpr uint64_t kmers_of_a_bin = 32 << 10;
  const uint64_t all = estimate_bases(files) / kmers_of_a_bin;
  return std::clamp<uint64_t>(all / static_cast<uint64_t>(ranks), 1, record::max_bins);
}

static_assert(least_buffer_bytes >= record::max_bytes, "a buffer has room for each record");

struct timed_step {
  const char* name;
  double seconds;
};

class count_job {
 public:
  count_job(const options& chosen, exchange* network)
      : chosen_(chosen),
        network_(network),
        bar_(network->rank() == 0 ? chosen.progress : when::never),
        histogram_(chosen.histogram_high),
        phases_(network, chosen.threads,
                {[](const message&) {},
                 [this](const message& incoming) { unpack(incoming, bins_.get()); },
                 [this](const message& incoming) {
                   table_->write(absl::string_view(incoming.bytes.get(), incoming.size));
                 },
                 [](const message&) {}}) {}

  outcome run() {
    const bool good = step("open", [this](int thread) { open(thread); }) &&
                      step("divide", [this](int thread) { divide(thread); }) &&
                      step("count", [this](int thread) { count(thread); }) && sum_up() &&
                      step("write", [this](int thread) { write(thread); });
    bar_.clear();
    if (!good) return {false, phases_.reason()};
    return {true, phases_.rank() == 0 ? summary() : ""};
  }

 private:
  bool step(const char* name, const std::function<void(int)>& work) {
    step_ = name;
    const clock::time_point begin = clock::now();
    const bool good = phases_.run(work, [] {});
    steps_.push_back({name, std::chrono::duration<double>(clock::now() - begin).count()});
    return good;
  }

  // Opening the job.

  void open(int thread) {
    if (thread != 0) return;
    std::vector<input_file> files = examine(chosen_.files);
    bins_ = std::make_unique<kmer_bins>(chosen_.k, choose_bins(files, phases_.ranks()));
    const size_t chunk = choose_chunk_bytes(files, phases_.ranks(), phases_.threads());
    input_ = std::make_unique<input>(std::move(files), phases_.rank(), phases_.ranks(), chunk);
    if (phases_.rank() != 0) return;
    // Now, not after an hour of counting.
    if (!chosen_.table.empty()) table_ = std::make_unique<output_file>(chosen_.table);
    if (!chosen_.histogram.empty()) {
      histogram_file_ = std::make_unique<output_file>(chosen_.histogram);
    }
  }

  // Dividing the input among the bins of all ranks.

  void divide(int thread) {
    distributor to(&phases_, thread, chosen_.k, chosen_.buffer_bytes, bins_.get());
    super_kmer_finder finder(chosen_.k);
    read_counts counts;
    uint64_t kmers = 0;
    text_unit unit;
    packed_reads reads(chosen_.k);
    while (!phases_.stopped()) {
      const input::answer answer = input_->next(&unit);
      if (answer == input::answer::end) break;
      if (answer == input::answer::unit) {
        reads.clear();
        input_->parse(unit, chosen_.k, &reads, &counts);
        kmers += reads.kmers();
        reads.for_each_stretch([&](const uint64_t* words, size_t length) {
          finder.for_each(words, length, [&to](const super_kmer& run) { to.push(run); });
        });
      }
      phases_.serve(thread);
      if (thread == 0) bar_.update(step_, input_->done_bytes(), input_->total_bytes());
    }
    to.flush_all();
    reads_ += counts.reads;
    bases_ += counts.bases;
    kmers_ += kmers;
  }

  // Counting the bins of this rank.

  void count(int thread) {
    if (chosen_.k <= max_k<uint64_t>) return count_bins<uint64_t>(thread);
    return count_bins<uint128_t>(thread);
  }

  template <class Word>
  void count_bins(int thread) {
    bin_counter<Word> counter;
    histogram counts(chosen_.histogram_high);
    uint64_t different = 0;
    std::string lines;
    for (size_t bin; !phases_.stopped() && (bin = next_bin_++) < bins_->size();) {
      counter.count(*bins_, bin, [&](Word word, uint64_t count) {
        counts.add(count);
        ++different;
        if (chosen_.table.empty() || count < chosen_.min_count) return;
        absl::StrAppend(&lines, to_string(word, chosen_.k), " ", count, "\n");
        if (lines.size() >= chosen_.buffer_bytes) send_lines(thread, &lines);
      });
      bins_->clear(bin);
      phases_.serve(thread);
      if (thread == 0) bar_.update(step_, bin, bins_->size());
    }
    if (!lines.empty()) send_lines(thread, &lines);
    const std::lock_guard<std::mutex> lock(results_mutex_);
    histogram_.add(counts);
    different_ += different;
  }

  // Results.

  void send_lines(int thread, std::string* lines) {
    if (phases_.rank() == 0) {
      table_->write(*lines);
    } else {
      message_buffer buffer(static_cast<char*>(std::malloc(lines->size())));
      if (buffer == nullptr) throw std::bad_alloc();
      std::memcpy(buffer.get(), lines->data(), lines->size());
      phases_.send(thread, 0, &buffer, lines->size());
    }
    lines->clear();
    phases_.serve(thread);
  }

  bool sum_up() {
    totals_ = {reads_, bases_, kmers_, different_};
    network_->sum(totals_.data(), totals_.size());
    std::vector<uint64_t>& bins = histogram_.bins();
    network_->sum(bins.data(), bins.size());
    return true;
  }

  void write(int thread) {
    if (thread != 0) return;
    if (histogram_file_ != nullptr) {
      histogram_file_->write(histogram_.text());
      histogram_file_->close();
    }
    if (table_ != nullptr) table_->close();
  }

  std::string summary() {
    std::string text = absl::StrFormat(
        "%d reads, %d bases, %d k-mers of %d bases: %d different, %d of them once\n", totals_[0],
        totals_[1], totals_[2], chosen_.k, totals_[3], histogram_.bins()[1]);
    double total = 0;
    for (const timed_step& one : steps_) {
      absl::StrAppendFormat(&text, "%s %.2f s, ", one.name, one.seconds);
      total += one.seconds;
    }
    absl::StrAppendFormat(
        &text, "total %.2f s: %.2f million k-mers/s with %d ranks of %d threads\n", total,
        static_cast<double>(totals_[2]) / total / 1e6, phases_.ranks(), phases_.threads());
    return text;
  }

  const options& chosen_;
  exchange* const network_;
  progress_bar bar_;
  const char* step_ = "";
  std::vector<timed_step> steps_;

  std::unique_ptr<input> input_;
  std::unique_ptr<kmer_bins> bins_;
  std::atomic<size_t> next_bin_{0};
  std::unique_ptr<output_file> table_;           // on rank 0, if wanted
  std::unique_ptr<output_file> histogram_file_;  // on rank 0, if wanted
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> bases_{0};
  std::atomic<uint64_t> kmers_{0};
  std::mutex results_mutex_;
  uint64_t different_ = 0;        // k-mers of this rank
  std::vector<uint64_t> totals_;  // of all ranks: the four numbers above
  histogram histogram_;

  phases phases_;
};

}  // namespace

outcome count_kmers(const options& chosen, exchange* network) {
  return count_job(chosen, network).run();
}

}  // namespace kmer
