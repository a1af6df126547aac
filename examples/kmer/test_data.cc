#include "examples/kmer/test_data.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>

#include "zlib.h"

namespace kmer {

std::string random_bases(size_t length, unsigned seed) {
  std::mt19937 generator(seed);
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[generator() % 4];
  return bases;
}

std::string reverse_complement(std::string bases) {
  std::reverse(bases.begin(), bases.end());
  for (char& base : bases) {
    base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : base == 'T' ? 'A' : 'N';
  }
  return bases;
}

std::vector<std::string> random_reads(size_t count, size_t genome_length, size_t mean_length,
                                      unsigned seed) {
  const std::string genome = random_bases(genome_length, seed);
  std::mt19937 generator(seed + 1);
  std::vector<std::string> reads;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = generator() % (2 * mean_length + 1);
    std::string read = genome.substr(generator() % (genome_length - 2 * mean_length), length);
    if (generator() % 2 == 0) read = reverse_complement(read);
    if (!read.empty() && generator() % 4 == 0) read[generator() % length] = "ACGT"[generator() % 4];
    if (!read.empty() && generator() % 8 == 0) read[generator() % length] = 'N';
    reads.push_back(read);
  }
  return reads;
}

std::string fastq(const std::vector<std::string>& reads, const char* line_end) {
  std::string text;
  for (size_t i = 0; i < reads.size(); ++i) {
    std::string quality(reads[i].size(), 'I');
    if (!quality.empty()) quality[0] = "@+I>"[i % 4];
    text += "@read_" + std::to_string(i) + " from the test" + line_end + reads[i] + line_end + "+" +
            line_end + quality + line_end;
  }
  return text;
}

std::string fasta(const std::vector<std::string>& reads, size_t width, const char* line_end) {
  std::string text;
  for (size_t i = 0; i < reads.size(); ++i) {
    text += ">read_" + std::to_string(i) + " ACGT" + line_end;
    for (size_t at = 0; at < reads[i].size(); at += width) {
      text += reads[i].substr(at, width) + line_end;
    }
  }
  return text;
}

std::string gzipped(const std::string& text) {
  z_stream zlib{};
  if (deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string bytes(deflateBound(&zlib, static_cast<uLong>(text.size())), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(&bytes[0]);
  zlib.avail_out = static_cast<uInt>(bytes.size());
  const int result = deflate(&zlib, Z_FINISH);
  bytes.resize(zlib.total_out);
  deflateEnd(&zlib);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return bytes;
}

std::string write_file(const std::string& name, const std::string& bytes) {
  const char* directory = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(directory != nullptr ? directory : "/tmp") + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error("can't write " + path);
  return path;
}

std::map<std::string, uint64_t> count_simply(const std::vector<std::string>& reads, size_t k) {
  std::map<std::string, uint64_t> counts;
  for (const std::string& read : reads) {
    for (size_t i = 0; i + k <= read.size(); ++i) {
      const std::string piece = read.substr(i, k);
      if (piece.find('N') != std::string::npos) continue;
      ++counts[std::min(piece, reverse_complement(piece))];
    }
  }
  return counts;
}

void append(const std::vector<std::string>& reads, packed_reads* to) {
  for (const std::string& read : reads) {
    for (char base : read) {
      if (base == 'N') {
        to->cut();
      } else {
        to->push(static_cast<unsigned>(std::string("ACGT").find(base)));
      }
    }
    to->cut();
  }
}

std::vector<std::string> kmers_of(const packed_reads& reads, int k) {
  std::vector<std::string> all;
  reads.for_each_stretch([&](const uint64_t* words, size_t length) {
    window<uint64_t> rolling(k);
    for (size_t i = 0; i < length; ++i) {
      rolling.push(static_cast<unsigned>(words[i / 32] >> (2 * (i % 32)) & 3));
      if (i + 1 >= static_cast<size_t>(k)) all.push_back(to_string(rolling.canonical(), k));
    }
  });
  return all;
}

std::map<std::string, uint64_t> counts_of(const packed_reads& reads, int k) {
  std::map<std::string, uint64_t> counts;
  for (const std::string& kmer : kmers_of(reads, k)) ++counts[kmer];
  return counts;
}

}  // namespace kmer
