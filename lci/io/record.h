// Structs as bodies of frames. A struct lists its members in the order in which they are sent:
//
//   struct hello {
//     uint32_t rank = 0;
//     std::string node;
//     static constexpr auto fields = std::make_tuple(&hello::rank, &hello::node);
//   };
//
// A member is a number, a bool or an enumerator (sent as a u32, or a u64 if it is larger), a text
// (lci/io/bytes.h), a struct with fields, or a vector of these (u32 count, elements).
#ifndef LCI_IO_RECORD_H_
#define LCI_IO_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "lci/io/bytes.h"

namespace lci::io {
namespace internal {

template <class Field>
constexpr bool is_number = std::is_integral_v<Field> || std::is_enum_v<Field>;
// The type that a number is sent as.
template <class Number>
using sent_number = std::conditional_t<(sizeof(Number) > 4), uint64_t, uint32_t>;

template <class Field>
constexpr bool is_text =
    std::is_same_v<Field, std::string> || std::is_same_v<Field, std::string_view>;
template <class Field>
constexpr bool is_list = false;
template <class Element>
constexpr bool is_list<std::vector<Element>> = true;

}  // namespace internal

template <class Record>
void append_record(std::string* out, const Record& record) {
  if constexpr (internal::is_number<Record>) {
    using number = internal::sent_number<Record>;
    append_le(out, static_cast<number>(record), sizeof(number));
  } else if constexpr (internal::is_text<Record>) {
    append_text(out, record);
  } else if constexpr (internal::is_list<Record>) {
    append_le(out, record.size(), 4);
    for (const auto& element : record) append_record(out, element);
  } else {
    std::apply([&](auto... member) { (append_record(out, record.*member), ...); }, Record::fields);
  }
}

template <class Record>
std::string encode_record(const Record& record) {
  std::string body;
  append_record(&body, record);
  return body;
}

template <class Record>
void read_record(body_reader* from, Record* record) {
  if constexpr (internal::is_number<Record>) {
    using number = internal::sent_number<Record>;
    const auto sent = static_cast<number>(from->number(sizeof(number)));
    *record = static_cast<Record>(sent);
    if (static_cast<number>(*record) != sent) from->fail();  // a flag of 2, or too large a number
  } else if constexpr (internal::is_text<Record>) {
    *record = Record(from->text());
  } else if constexpr (internal::is_list<Record>) {
    record->clear();
    // A wrong count ends with the body.
    for (uint32_t left = from->u32(); left > 0 && from->ok(); --left) {
      read_record(from, &record->emplace_back());
    }
  } else {
    std::apply([&](auto... member) { (read_record(from, &(record->*member)), ...); },
               Record::fields);
  }
}

// Reads a whole body; its views refer to `body`. Returns false if the body does not have exactly
// these fields.
template <class Record>
bool decode_record(std::string_view body, Record* record) {
  body_reader reader(body);
  read_record(&reader, record);
  return reader.complete();
}

}  // namespace lci::io

#endif  // LCI_IO_RECORD_H_
