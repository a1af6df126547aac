#include "lci/runtime/core/common_settings.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "lci/boot/in_process.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci::rt {
namespace {

std::string of(std::string_view backend, std::string_view size) {
  common_settings made;
  made.attribute("backend", backend);
  made.attribute("packet_size", size);
  return made.encode();
}

TEST(CommonSettings, SameSettingsAgree) {
  EXPECT_TRUE(common_settings::compare({of("shm", "8192")}).ok());
  EXPECT_TRUE(
      common_settings::compare({of("shm", "8192"), of("shm", "8192"), of("shm", "8192")}).ok());
}

TEST(CommonSettings, HostsAreHandedOn) {
  const auto found = common_settings::compare(
      {common_settings("here").encode(), common_settings("there").encode()});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->hosts, (std::vector<std::string>{"here", "there"}));
}

TEST(CommonSettings, EachDifferenceIsNamedWithItsRanks) {
  EXPECT_EQ(
      common_settings::compare({of("shm", "1"), of("ofi", "1"), of("shm", "1"), of("shm", "1")})
          ->differences,
      "backend (LCI_ATTR_BACKEND) is shm on ranks 0, 2-3, ofi on rank 1");
  EXPECT_EQ(common_settings::compare({of("shm", "1"), of("ofi", "2")})->differences,
            "backend (LCI_ATTR_BACKEND) is shm on rank 0, ofi on rank 1; "
            "packet_size (LCI_ATTR_PACKET_SIZE) is 1 on rank 0, 2 on rank 1");
  EXPECT_EQ(common_settings::compare({of("", "1"), of("ofi", "1")})->differences,
            "backend (LCI_ATTR_BACKEND) is unset on rank 0, ofi on rank 1");
}

TEST(CommonSettings, ASettingOfSomeRanksIsADifference) {
  common_settings more;
  more.attribute("backend", "shm");
  more.attribute("packet_size", "1");
  more.add("color", "red");
  EXPECT_EQ(common_settings::compare({of("shm", "1"), more.encode(), of("shm", "1")})->differences,
            "color is unknown on ranks 0, 2, red on rank 1");
}

TEST(CommonSettings, AnotherReleaseIsNamed) {
  for (const std::string& other :
       {std::string(), std::string(24, '\3'), std::string("lci settings\0host\0name", 22)}) {
    EXPECT_EQ(common_settings::compare({of("shm", "1"), other}).status().message(),
              "rank 1 runs another release of the library; start all ranks with the same program "
              "and library");
  }
}

// Starts a runtime on each of three ranks, where `change` modifies the attributes of rank 1, and
// returns the error message of each rank.
template <class Change>
std::vector<std::string> start_with(const Change& change) {
  std::vector<std::string> errors(3);
  run_ranks(3, [&](std::unique_ptr<boot::bootstrap> boot) {
    const auto rank = static_cast<size_t>(boot->rank());
    global_attr_t all;
    runtime_attr_t attr;
    if (rank == 1) change(&attr, &all);
    try {
      // Not on the stack, which the address sanitizer aligns for less than it needs.
      std::make_unique<runtime_impl_t>(std::move(boot), attr, all);
    } catch (const std::exception& error) {
      errors[rank] = error.what();
    }
  });
  return errors;
}

void expect_all(const std::vector<std::string>& errors, const std::string& text) {
  for (const std::string& each : errors) {
    EXPECT_NE(each.find(text), std::string::npos) << each;
  }
}

TEST(Start, NamesWhatTheRanksDisagreeAbout) {
  expect_all(start_with([](runtime_attr_t* attr, global_attr_t*) { attr->imm_nbits_tag = 12; }),
             "imm_nbits_tag (LCI_ATTR_IMM_NBITS_TAG) is 16 on ranks 0, 2, 12 on rank 1");
  expect_all(start_with([](runtime_attr_t* attr, global_attr_t*) { attr->nrails = 2; }),
             "nrails (LCI_ATTR_NRAILS) is 1 on ranks 0, 2, 2 on rank 1");
  expect_all(
      start_with([](runtime_attr_t*, global_attr_t* all) { all->backend = attr_backend_t::ofi; }),
      "backend (LCI_ATTR_BACKEND) is shm on ranks 0, 2, ofi on rank 1");
  expect_all(start_with([](runtime_attr_t*, global_attr_t* all) { all->packet_size = 4096; }),
             "packet_size (LCI_ATTR_PACKET_SIZE) is 8192 on ranks 0, 2, 4096 on rank 1");
  expect_all(start_with([](runtime_attr_t*, global_attr_t* all) { all->shm_eager_size = 1024; }),
             "shm_eager_size (LCI_ATTR_SHM_EAGER_SIZE) is 32768 on ranks 0, 2, 1024 on rank 1");
  expect_all(
      start_with([](runtime_attr_t* attr, global_attr_t*) { attr->alloc_default_device = false; }),
      "alloc_default_device (LCI_ATTR_ALLOC_DEFAULT_DEVICE) is 1 on ranks 0, 2, 0 on rank "
      "1");
}

TEST(Start, AnAreaHoldsNoMoreThanItsBytes) {
  expect_all(start_with([](runtime_attr_t* attr, global_attr_t*) {
               attr->coll_copy_area_max_size = 32769;
             }),
             "attribute coll_copy_area_max_size is 32769, not 0 to 32768");
  expect_all(
      start_with(
          [](runtime_attr_t* attr, global_attr_t*) { attr->coll_reduce_area_max_size = 4097; }),
      "coll_reduce_area_max_size (LCI_ATTR_COLL_REDUCE_AREA_MAX_SIZE) is 4096 on ranks 0, 2, "
      "4097 on rank 1");
}

TEST(Start, WhatOneRankCannotDoAllLearn) {
  expect_all(
      start_with([](runtime_attr_t*, global_attr_t* all) { all->backend = attr_backend_t::ucx; }),
      "backend ucx (LCI_ATTR_BACKEND) is not part of this library, which has ");
  expect_all(start_with([](runtime_attr_t*, global_attr_t* all) {
               all->backend = static_cast<attr_backend_t>(77);
             }),
             "backend ? (LCI_ATTR_BACKEND) is not part of this library, which has ");
  expect_all(start_with([](runtime_attr_t* attr, global_attr_t*) { attr->imm_nbits_tag = 17; }),
             "imm_nbits_tag is 17, not 0 to 16");
}

}  // namespace
}  // namespace lci::rt
