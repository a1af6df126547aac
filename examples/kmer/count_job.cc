#include "examples/kmer/count_job.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/kmer/distributor.h"
#include "examples/kmer/input.h"
#include "examples/kmer/kmer_counter.h"
#include "examples/kmer/output.h"
#include "examples/kmer/phases.h"
#include "examples/kmer/progress_bar.h"
#include "examples/kmer/read_cache.h"

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

// Of one rank. Sequencing data holds about one different k-mer for five bases (each base of the
// genome is read many times; each error makes up to k new k-mers), and a layer of the filter works
// well with ten bits for each.
size_t choose_bloom_bytes(const options& chosen, const std::vector<input_file>& files, int ranks) {
  const uint64_t wanted =
      chosen.bloom_bytes.value_or(std::max<uint64_t>(estimate_bases(files) / 2, uint64_t{1} << 20));
  return std::max<uint64_t>(1, wanted / static_cast<uint64_t>(ranks));
}

uint64_t choose_cache_bytes(const options& chosen, int ranks) {
  if (chosen.cache_bytes) return *chosen.cache_bytes;
  const auto memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return memory / 4 / static_cast<uint64_t>(ranks);
}

struct timed_step {
  const char* name;
  double seconds;
};

template <class Word>
class count_job {
 public:
  count_job(const options& chosen, exchange* network)
      : chosen_(chosen),
        network_(network),
        bar_(network->rank() == 0 ? chosen.progress : when::never),
        cache_(choose_cache_bytes(chosen, network->ranks())),
        histogram_(chosen.histogram_high),
        phases_(network, chosen.threads,
                {[](const message&) {},
                 [this](const message& incoming) { unpack<Word>(incoming, add_); },
                 [this](const message& incoming) { unpack<Word>(incoming, count_); },
                 [this](const message& incoming) {
                   table_->write(absl::string_view(incoming.bytes.get(), incoming.size));
                 },
                 [](const message&) {}}) {}

  outcome run() {
    const bool good =
        step(
            "open", [this](int thread) { open(thread); }, [this] { make_counter(); }) &&
        step(
            "filter", [this](int thread) { first_pass(thread); }, [this] { begin_counting(); }) &&
        step(
            "count", [this](int thread) { second_pass(thread); }, [] {}) &&
        step(
            "gather", [this](int thread) { gather(thread); }, [] {}) &&
        sum_up() &&
        step(
            "write", [this](int thread) { write(thread); }, [] {});
    bar_.clear();
    if (!good) return {false, phases_.reason()};
    return {true, phases_.rank() == 0 ? summary() : ""};
  }

 private:
  bool step(const char* name, const std::function<void(int)>& work,
            const std::function<void()>& prepare) {
    step_ = name;
    const clock::time_point begin = clock::now();
    const bool good = phases_.run(work, prepare);
    steps_.push_back({name, std::chrono::duration<double>(clock::now() - begin).count()});
    return good;
  }

  // Opening the job.

  void open(int thread) {
    if (thread != 0) return;
    std::vector<input_file> files = examine(chosen_.files);
    bloom_bytes_ = choose_bloom_bytes(chosen_, files, phases_.ranks());
    const size_t chunk = choose_chunk_bytes(files, phases_.ranks(), phases_.threads());
    input_ = std::make_unique<input>(std::move(files), phases_.rank(), phases_.ranks(), chunk);
    if (phases_.rank() != 0) return;
    // Now, not after an hour of counting.
    if (!chosen_.table.empty()) table_ = std::make_unique<output_file>(chosen_.table);
    if (!chosen_.histogram.empty()) {
      histogram_file_ = std::make_unique<output_file>(chosen_.histogram);
    }
  }

  void make_counter() { counter_ = std::make_unique<kmer_counter<Word>>(bloom_bytes_); }

  // The passes.

  // Sends the k-mers of what the input gives; keep(unit, reads) is called for each piece first.
  template <class Keep>
  void read_input(int thread, distributor<Word>* to, read_counts* counts, Keep&& keep) {
    text_unit unit;
    packed_reads reads(chosen_.k);
    while (!phases_.stopped()) {
      const input::answer answer = input_->next(&unit);
      if (answer == input::answer::end) return;
      if (answer == input::answer::busy) {
        phases_.serve(thread);
        continue;
      }
      reads.clear();
      input_->parse(unit, chosen_.k, &reads, counts);
      keep(unit, reads);
      send(thread, reads, to);
    }
  }

  void send(int thread, const packed_reads& reads, distributor<Word>* to) {
    reads.for_each_kmer<Word>([to](Word word) { to->push(word); });
    phases_.serve(thread);
    if (thread == 0) {
      bar_.update(step_, input_->done_bytes() + cached_done_, input_->total_bytes() + cached_);
    }
  }

  void first_pass(int thread) {
    distributor<Word> to(&phases_, thread, chosen_.buffer_bytes, add_);
    read_counts counts;
    uint64_t kmers = 0;
    read_input(thread, &to, &counts, [&](const text_unit& unit, const packed_reads& reads) {
      kmers += reads.kmers();
      cache_.keep(unit.file, unit.number, reads);
    });
    to.flush_all();
    reads_ += counts.reads;
    bases_ += counts.bases;
    kmers_ += kmers;
  }

  void begin_counting() {
    counter_->begin_counting();
    cached_ = cache_.units().size();
    input_->restart([this](size_t file, uint64_t number) { return cache_.has(file, number); });
  }

  void second_pass(int thread) {
    distributor<Word> to(&phases_, thread, chosen_.buffer_bytes, count_);
    const std::vector<packed_reads>& cached = cache_.units();
    for (size_t i; !phases_.stopped() && (i = cached_done_++) < cached.size();) {
      send(thread, cached[i], &to);
    }
    read_counts again;
    read_input(thread, &to, &again, [](const text_unit&, const packed_reads&) {});
    to.flush_all();
  }

  // Results.

  // The histogram, and the table's lines for rank 0. By one thread: libcuckoo's table can only be
  // gone through by one. The others serve.
  void gather(int thread) {
    if (thread != 0) return;
    const bool wanted = !chosen_.table.empty();
    std::string lines;
    counter_->for_each([&](Word word, uint64_t count) {
      histogram_.add(count);
      repeated_occurrences_ += count;
      ++repeated_;
      if (!wanted || count < chosen_.min_count) return;
      absl::StrAppend(&lines, to_string(word, chosen_.k), " ", count, "\n");
      if (lines.size() >= chosen_.buffer_bytes) send_lines(thread, &lines);
    });
    if (!lines.empty()) send_lines(thread, &lines);
  }

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
    totals_ = {reads_, bases_, kmers_, repeated_, repeated_occurrences_};
    network_->sum(totals_.data(), totals_.size());
    std::vector<uint64_t>& bins = histogram_.bins();
    network_->sum(bins.data(), bins.size());
    // Every occurrence that is not one of a repeated k-mer is the only one of its k-mer; so those
    // that the filter kept out of the table are known too.
    once_ = totals_[2] - totals_[4];
    histogram_.add(1, once_);
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

  std::string summary() const {
    std::string text = absl::StrFormat(
        "%d reads, %d bases, %d k-mers of %d bases: %d different, %d of them once\n", totals_[0],
        totals_[1], totals_[2], chosen_.k, totals_[3] + once_, once_);
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

  size_t bloom_bytes_ = 0;
  std::unique_ptr<input> input_;
  std::unique_ptr<kmer_counter<Word>> counter_;
  read_cache cache_;
  size_t cached_ = 0;  // units, from the second pass on
  std::atomic<size_t> cached_done_{0};
  std::unique_ptr<output_file> table_;           // on rank 0, if wanted
  std::unique_ptr<output_file> histogram_file_;  // on rank 0, if wanted
  const kmer_sink<Word> add_ = [this](const Word* words, size_t n) { counter_->add(words, n); };
  const kmer_sink<Word> count_ = [this](const Word* words, size_t n) { counter_->count(words, n); };

  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> bases_{0};
  std::atomic<uint64_t> kmers_{0};
  uint64_t repeated_ = 0;              // k-mers of this rank with a count of 2 or more
  uint64_t repeated_occurrences_ = 0;  // the sum of those counts
  std::vector<uint64_t> totals_;       // of all ranks: the five numbers above
  uint64_t once_ = 0;                  // of all ranks: k-mers with a count of 1
  histogram histogram_;

  phases phases_;
};

}  // namespace

outcome count_kmers(const options& chosen, exchange* network) {
  if (chosen.k <= max_k<uint64_t>) return count_job<uint64_t>(chosen, network).run();
  return count_job<uint128_t>(chosen, network).run();
}

}  // namespace kmer
