#include "lci/observe/event.h"

#include <algorithm>
#include <cstring>

namespace lci::observe {
namespace {

constexpr std::string_view kind_names[event_kinds] = {
    "none",       "post",      "refused",         "poll",       "arrival",         "notification",
    "completion", "receive",   "matched arrival", "unexpected", "matched receive", "signal",
    "collective", "peer lost", "report"};

constexpr std::string_view form_names[wire_forms] = {"",
                                                     "active message",
                                                     "send",
                                                     "ready to send",
                                                     "ready to receive",
                                                     "reject",
                                                     "finish",
                                                     "remote completion",
                                                     "signal event",
                                                     "put",
                                                     "notifying put",
                                                     "last put of a rendezvous",
                                                     "get",
                                                     "remote add",
                                                     "message",
                                                     "taken"};

// Word 2: duration in the lower half, then kind, form, flags and runtime.
// Word 3: peer in the lower half, operation in the upper one.
// Word 4: size in the lower 40 bits, then context and device.
constexpr int kind_shift = 32;
constexpr int form_shift = 40;
constexpr int flags_shift = 48;
constexpr int runtime_shift = 56;
constexpr int operation_shift = 32;
constexpr int context_shift = 40;
constexpr int device_shift = 48;

constexpr uint8_t byte_at(uint64_t word, int shift) { return static_cast<uint8_t>(word >> shift); }

}  // namespace

std::string_view name_of(event_kind kind) { return kind_names[static_cast<size_t>(kind)]; }
std::string_view name_of(wire_form form) { return form_names[static_cast<size_t>(form)]; }

bool operator==(const event& a, const event& b) { return encode(a, 1) == encode(b, 1); }

void set_name(event* recorded, std::string_view name) {
  uint64_t words[2] = {};
  std::memcpy(words, name.data(), std::min(name.size(), sizeof(words)));
  recorded->tag = words[0];
  recorded->sequence = words[1];
}

std::string name_in(const event& recorded) {
  const uint64_t words[2] = {recorded.tag, recorded.sequence};
  char name[sizeof(words) + 1] = {};
  std::memcpy(name, words, sizeof(words));
  return name;
}

event_image encode(const event& recorded, uint64_t number) {
  return {number,
          recorded.time,
          recorded.duration | uint64_t{static_cast<uint8_t>(recorded.kind)} << kind_shift |
              uint64_t{static_cast<uint8_t>(recorded.form)} << form_shift |
              uint64_t{recorded.flags} << flags_shift | uint64_t{recorded.runtime} << runtime_shift,
          static_cast<uint32_t>(recorded.peer) | uint64_t{recorded.operation} << operation_shift,
          std::min(recorded.size, event::max_size) | uint64_t{recorded.context} << context_shift |
              uint64_t{recorded.device} << device_shift,
          recorded.tag,
          recorded.sequence,
          recorded.detail};
}

const char* decode(const event_image& image, event* out) {
  const uint8_t kind = byte_at(image[2], kind_shift);
  const uint8_t form = byte_at(image[2], form_shift);
  if (kind == 0 || kind >= event_kinds) return "of an unknown kind";
  if (form >= wire_forms) return "of an unknown form";
  out->time = image[1];
  out->duration = static_cast<uint32_t>(image[2]);
  out->kind = static_cast<event_kind>(kind);
  out->form = static_cast<wire_form>(form);
  out->flags = byte_at(image[2], flags_shift);
  if ((out->flags & ~event::all_flags) != 0) return "with unknown flags";
  out->runtime = byte_at(image[2], runtime_shift);
  out->peer = static_cast<int32_t>(static_cast<uint32_t>(image[3]));
  if (out->peer < event::no_peer) return "with a negative rank";
  out->operation = static_cast<uint32_t>(image[3] >> operation_shift);
  out->size = image[4] & event::max_size;
  out->context = byte_at(image[4], context_shift);
  out->device = static_cast<uint16_t>(image[4] >> device_shift);
  out->tag = image[5];
  out->sequence = image[6];
  out->detail = image[7];
  if (out->kind == event_kind::collective) {
    for (const char c : name_in(*out)) {
      if (c < ' ' || c > '~') return "with a name that is no text";
    }
  }
  return nullptr;
}

}  // namespace lci::observe
