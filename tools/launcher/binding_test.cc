#include "tools/launcher/binding.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "tools/launcher/topology.h"

namespace lci::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A tree of files like those below /sys.
class fake_sysfs {
 public:
  fake_sysfs() {
    static int number = 0;
    root_ = base::StrCat(std::getenv("TEST_TMPDIR"), "/sysfs-", number++);
    make_directory(root_);
  }

  void write(const std::string& path, const std::string& text) {
    for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
      make_directory(base::StrCat(root_, "/", path.substr(0, slash)));
    }
    std::ofstream(base::StrCat(root_, "/", path)) << text << "\n";
  }

  void add_processor(int id, int socket, const std::string& siblings) {
    const std::string dir = base::StrCat("devices/system/cpu/cpu", id, "/topology/");
    write(dir + "physical_package_id", std::to_string(socket));
    write(dir + "thread_siblings_list", siblings);
    write(dir + "core_id", "0");  // some hosts number the cores of each cluster from 0
  }

  const std::string& root() const { return root_; }

 private:
  static void make_directory(const std::string& path) { mkdir(path.c_str(), 0700); }
  std::string root_;
};

std::vector<int> first(int count) {
  std::vector<int> list;
  for (int i = 0; i < count; ++i) list.push_back(i);
  return list;
}

// Two sockets of two NUMA nodes of two cores of two processors. As on many hosts, the second
// processor of core c has the number c + 8; sockets alternate, as on some.
topology large_host() {
  fake_sysfs sysfs;
  for (int core = 0; core < 8; ++core) {
    const int socket = core % 2;
    for (const int id : {core, core + 8}) {
      sysfs.add_processor(id, socket, base::StrCat(core, ",", core + 8));
    }
  }
  sysfs.write("devices/system/node/node0/cpulist", "0,2,8,10");
  sysfs.write("devices/system/node/node1/cpulist", "4,6,12,14");
  sysfs.write("devices/system/node/node2/cpulist", "1,3,9,11");
  sysfs.write("devices/system/node/node3/cpulist", "5,7,13,15");
  sysfs.write("devices/system/node/has_cpu", "0-3");
  return read_topology(sysfs.root(), first(16));
}

TEST(Topology, OrdersProcessorsBySocketNumaNodeAndCore) {
  std::vector<int> ids;
  for (const processor& p : large_host()) ids.push_back(p.id);
  EXPECT_THAT(ids, ElementsAre(0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15));
  const topology host = large_host();
  EXPECT_EQ(host[1].core, 0);
  EXPECT_EQ(host[8].core, 4);
  EXPECT_EQ(host[8].socket, 1);
  EXPECT_EQ(host[8].numa, 2);
}

TEST(Topology, HasOnlyTheProcessorsThatMayBeUsed) {
  fake_sysfs sysfs;
  for (int id = 0; id < 4; ++id) sysfs.add_processor(id, 0, id < 2 ? "0-1" : "2-3");
  const topology host = read_topology(sysfs.root(), {1, 2, 3});
  ASSERT_EQ(host.size(), 3u);
  EXPECT_EQ(host[0].id, 1);
  EXPECT_EQ(host[0].core, 0);
  EXPECT_EQ(host[2].core, 1);
}

// As in a container without /sys, or with other files there.
TEST(Topology, WithoutFilesEachProcessorIsACore) {
  fake_sysfs sysfs;
  sysfs.write("devices/system/cpu/cpu1/topology/physical_package_id", "one");
  sysfs.write("devices/system/cpu/cpu1/topology/thread_siblings_list", "0-x");
  sysfs.write("devices/system/node/node0/cpulist", "-");
  const topology host = read_topology(sysfs.root(), {0, 1});
  ASSERT_EQ(host.size(), 2u);
  EXPECT_EQ(host[1].core, 1);
  EXPECT_EQ(host[1].socket, 0);
  EXPECT_EQ(host[1].numa, 0);
  EXPECT_THAT(read_topology(sysfs.root(), {}), IsEmpty());
}

std::vector<std::vector<int>> bind_all(const topology& host, int ranks, binding bind_to,
                                       mapping map_by = mapping::slot) {
  std::vector<std::vector<int>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(bind_rank(host, rank, ranks, bind_to, map_by));
  }
  return all;
}

using list = std::vector<int>;

TEST(Binding, RanksDivideTheCores) {
  const topology host = large_host();
  EXPECT_THAT(bind_all(host, 2, binding::core),
              ElementsAre(list{0, 2, 4, 6, 8, 10, 12, 14}, list{1, 3, 5, 7, 9, 11, 13, 15}));
  // Whole cores, even if the number of cores is not a multiple of the ranks.
  EXPECT_THAT(bind_all(host, 3, binding::core),
              ElementsAre(list{0, 2, 8, 10}, list{1, 4, 6, 9, 12, 14}, list{3, 5, 7, 11, 13, 15}));
  EXPECT_THAT(bind_all(host, 8, binding::core)[4], ElementsAre(1, 9));
}

TEST(Binding, MoreRanksThanCoresDivideTheProcessors) {
  const auto all = bind_all(large_host(), 16, binding::core);
  EXPECT_THAT(all[0], ElementsAre(0));
  EXPECT_THAT(all[1], ElementsAre(8));
  EXPECT_THAT(all[15], ElementsAre(15));
  // More ranks than processors get one each, in rotation.
  EXPECT_THAT(bind_all(large_host(), 17, binding::core)[16], ElementsAre(0));
}

TEST(Binding, WholeNumaNodesAndSockets) {
  const topology host = large_host();
  EXPECT_THAT(bind_all(host, 4, binding::numa), ElementsAre(list{0, 2, 8, 10}, list{4, 6, 12, 14},
                                                            list{1, 3, 9, 11}, list{5, 7, 13, 15}));
  const list first_socket = {0, 2, 4, 6, 8, 10, 12, 14};
  const list second_socket = {1, 3, 5, 7, 9, 11, 13, 15};
  EXPECT_THAT(bind_all(host, 4, binding::socket),
              ElementsAre(first_socket, first_socket, second_socket, second_socket));
}

TEST(Binding, RanksAreDealtInTurn) {
  const topology host = large_host();
  EXPECT_THAT(bind_all(host, 3, binding::core, mapping::socket),
              ElementsAre(list{0, 2, 8, 10}, list{1, 3, 5, 7, 9, 11, 13, 15}, list{4, 6, 12, 14}));
  EXPECT_THAT(bind_all(host, 5, binding::core, mapping::numa),
              ElementsAre(list{0, 8}, list{4, 6, 12, 14}, list{1, 3, 9, 11}, list{5, 7, 13, 15},
                          list{2, 10}));
  EXPECT_THAT(bind_all(host, 3, binding::numa, mapping::numa)[2], ElementsAre(1, 3, 9, 11));
}

TEST(Binding, NoneAndNoProcessors) {
  EXPECT_THAT(bind_rank(large_host(), 0, 1, binding::none, mapping::socket), IsEmpty());
  EXPECT_THAT(bind_rank({}, 0, 1, binding::core, mapping::socket), IsEmpty());
}

TEST(Binding, IsDescribed) {
  const topology host = large_host();
  EXPECT_EQ(describe_binding(host, {0, 8}), "processors 0, 8 (core 0, NUMA node 0, socket 0)");
  EXPECT_EQ(describe_binding(host, {0, 1, 2}),
            "processors 0-2 (cores 0-1, 4, NUMA nodes 0, 2, sockets 0-1)");
  EXPECT_EQ(describe_binding(host, {15}), "processor 15 (core 7, NUMA node 3, socket 1)");
  EXPECT_EQ(describe_binding(host, {}), "not bound");
}

TEST(Oversubscription, NamesTheHosts) {
  EXPECT_EQ(oversubscription({{"a", 4, 4}, {"b", 9, 0}}), "");
  EXPECT_EQ(oversubscription({{"a", 4, 4}, {"b", 5, 4}, {"c", 2, 1}}),
            "more ranks than processors on b (5 ranks, 4 processors), c (2 ranks, 1 processor); "
            "--oversubscribe silences this warning");
  EXPECT_THAT(oversubscription(std::vector<host_load>(6, {"a", 2, 1})),
              testing::HasSubstr("and 2 more hosts; "));
}

}  // namespace
}  // namespace lci::launcher
