// Arguments and results as bytes: numbers as they stand in memory, strings and vectors as their
// length and their elements. Ranks of one job run the same program on the same kind of machine.
#ifndef EXAMPLES_RPC_ARCHIVE_H_
#define EXAMPLES_RPC_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rpc {

// The bytes of a message are not what their receiver expects.
class bad_message : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};
using bytes = std::unique_ptr<char, free_memory>;  // of malloc

// Collects bytes in one piece of memory.
class writer {
 public:
  template <class T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int> = 0>
  void write(T value) {
    append(&value, sizeof(value));
  }
  void write(const std::string& text) {
    write(uint64_t{text.size()});
    append(text.data(), text.size());
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write(uint64_t{values.size()});
    for (const T& value : values) write(value);
  }
  template <class A, class B>
  void write(const std::pair<A, B>& value) {
    write(value.first);
    write(value.second);
  }

  size_t size() const { return size_; }
  // The bytes; this writer is empty afterwards.
  bytes release() {
    size_ = capacity_ = 0;
    return std::move(memory_);
  }

 private:
  void append(const void* from, size_t size) {
    if (size == 0) return;
    if (size > capacity_ - size_) grow(size_ + size);
    std::memcpy(memory_.get() + size_, from, size);
    size_ += size;
  }
  void grow(size_t least) {
    const size_t capacity = least < 64 ? 64 : 2 * least;
    auto* memory = static_cast<char*>(std::realloc(memory_.get(), capacity));
    if (memory == nullptr) throw std::bad_alloc();
    static_cast<void>(memory_.release());
    memory_.reset(memory);
    capacity_ = capacity;
  }

  bytes memory_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Takes them apart again. Throws bad_message rather than read beyond the end.
class reader {
 public:
  // The memory must outlive the reader.
  reader(const void* memory, size_t size) : next_(static_cast<const char*>(memory)), left_(size) {}

  template <class T>
  T read() {
    T value;
    get(&value);
    return value;
  }
  // To be called when everything has been read.
  void finish() const {
    if (left_ != 0) throw bad_message(std::to_string(left_) + " bytes too many in a message");
  }

 private:
  void get(bool* value) { *value = *take(1) != 0; }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int> = 0>
  void get(T* value) {
    std::memcpy(value, take(sizeof(*value)), sizeof(*value));
  }
  void get(std::string* text) {
    const size_t size = count();
    text->assign(take(size), size);
  }
  template <class T>
  void get(std::vector<T>* values) {
    // No element is smaller than a byte: a wrong count can't make us allocate more than came.
    const size_t size = count();
    values->clear();
    for (size_t i = 0; i < size; ++i) values->push_back(read<T>());
  }
  template <class A, class B>
  void get(std::pair<A, B>* value) {
    get(&value->first);
    get(&value->second);
  }

  size_t count() {
    const auto number = read<uint64_t>();
    if (number > left_) {
      throw bad_message("a message says that " + std::to_string(number) +
                        " elements follow, but only " + std::to_string(left_) + " bytes do");
    }
    return static_cast<size_t>(number);
  }
  const char* take(size_t size) {
    if (size > left_) {
      throw bad_message("a message is " + std::to_string(size - left_) + " bytes too short");
    }
    const char* begin = next_;
    if (size > 0) next_ += size;  // a null pointer has no next
    left_ -= size;
    return begin;
  }

  const char* next_;
  size_t left_;
};

}  // namespace rpc

#endif  // EXAMPLES_RPC_ARCHIVE_H_
