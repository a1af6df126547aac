#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "lct/lct.h"

namespace {

// Replaces up to `most` occurrences.
std::string replace(const char* in, const char* from, const char* to, size_t most) {
  LCT_Assert(LCT_log_ctx_default, in != nullptr && from != nullptr && to != nullptr,
             "a string to replace in, to replace or to put there is null\n");
  std::string text = in;
  const size_t length = std::strlen(from);
  if (length == 0) return text;
  size_t place = text.find(from);
  for (size_t done = 0; done < most && place != std::string::npos; ++done) {
    text.replace(place, length, to);
    place = text.find(from, place + std::strlen(to));
  }
  return text;
}

bool matches(const char* key, const char* entry) {
  if (key == nullptr || entry == nullptr) return key == entry;
  return std::strcmp(key, entry) == 0;
}

}  // namespace

const char* LCT_str_replace_one(const char* in, const char* from, const char* to) {
  thread_local std::string result;
  result = replace(in, from, to, 1);
  return result.c_str();
}

const char* LCT_str_replace_all(const char* in, const char* from, const char* to) {
  thread_local std::string result;
  result = replace(in, from, to, SIZE_MAX);
  return result.c_str();
}

int LCT_str_int_search(LCT_dict_str_int_t dict[], int count, const char* key, int default_val,
                       int* val) {
  LCT_Assert(LCT_log_ctx_default, val != nullptr, "val, which receives the value, is null\n");
  for (int i = 0; i < count; ++i) {
    if (matches(key, dict[i].key)) {
      *val = dict[i].val;
      return 1;
    }
  }
  *val = default_val;
  return 0;
}

uint64_t LCT_parse_arg(LCT_dict_str_int_t dict[], int count, const char* key,
                       const char* delimiter) {
  if (key == nullptr) return 0;
  const std::string words = key;
  const size_t delimiter_length = delimiter == nullptr ? 0 : std::strlen(delimiter);
  uint64_t combined = 0;
  for (size_t begin = 0; begin != std::string::npos;) {
    const size_t end = delimiter_length == 0 ? std::string::npos : words.find(delimiter, begin);
    const std::string word = words.substr(begin, end == std::string::npos ? end : end - begin);
    int value = 0;
    if (LCT_str_int_search(dict, count, word.c_str(), 0, &value) != 0) {
      combined |= static_cast<uint64_t>(value);
    } else {
      LCT_Warn(LCT_log_ctx_default, "the word '%s' of '%s' is unknown and ignored\n", word.c_str(),
               key);
    }
    begin = end == std::string::npos ? end : end + delimiter_length;
  }
  return combined;
}
