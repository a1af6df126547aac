#include "lci/io/caches.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace lci::io {
namespace {

// Files as those of the kernel, in a directory of the test.
class fake_sysfs {
 public:
  fake_sysfs() {
    static int number = 0;
    root_ = std::string(std::getenv("TEST_TMPDIR")) + "/sysfs-" + std::to_string(number++);
    std::filesystem::create_directories(root_ + "/devices/system/cpu/cpufreq");
  }
  const std::string& root() const { return root_; }

  void add(int processor, int index, int level, const std::string& type, const std::string& size,
           const std::string& processors) const {
    const std::string cache = root_ + "/devices/system/cpu/cpu" + std::to_string(processor) +
                              "/cache/index" + std::to_string(index);
    std::filesystem::create_directories(cache);
    std::ofstream(cache + "/level") << level << "\n";
    std::ofstream(cache + "/type") << type << "\n";
    std::ofstream(cache + "/size") << size << "\n";
    std::ofstream(cache + "/shared_cpu_list") << processors << "\n";
  }

 private:
  std::string root_;
};

TEST(LastLevelCaches, AreCountedOnceForAllTheirProcessors) {
  const fake_sysfs files;
  for (int id = 0; id < 12; ++id) {
    const std::string own = std::to_string(id);
    files.add(id, 0, 1, "Data", "32K", own);
    files.add(id, 1, 1, "Instruction", "32K", own);
    files.add(id, 2, 2, "Unified", "512K", own);
    files.add(id, 3, 3, "Unified", id < 8 ? "32768K" : "16384K", id < 8 ? "0-7" : "8-11");
  }
  const last_level_caches found = read_last_level_caches(files.root());
  EXPECT_EQ(found.bytes, size_t{16} << 20);
  EXPECT_EQ(found.count, 2u);
}

TEST(LastLevelCaches, OfAProcessIsOne) {
  const last_level_caches two = {100, 2};
  EXPECT_EQ(two.bytes_for(1), 100u);
  EXPECT_EQ(two.bytes_for(2), 200u);
  EXPECT_EQ(two.bytes_for(9), 200u);
  EXPECT_EQ(last_level_caches{}.bytes_for(9), 0u);
}

TEST(LastLevelCaches, AreNotThoseOfInstructions) {
  const fake_sysfs files;
  files.add(0, 0, 1, "Data", "64K", "0");
  files.add(0, 1, 2, "Instruction", "512K", "0-3");
  const last_level_caches found = read_last_level_caches(files.root());
  EXPECT_EQ(found.bytes, size_t{64} << 10);
  EXPECT_EQ(found.count, 1u);
}

TEST(LastLevelCaches, AreUnknownWithoutReadableFiles) {
  EXPECT_EQ(read_last_level_caches("/nonexistent").bytes, 0u);
  const fake_sysfs empty;
  EXPECT_EQ(read_last_level_caches(empty.root()).bytes, 0u);
  for (const char* const size : {"", "K", "large", "-4K", "32768M"}) {
    const fake_sysfs files;
    files.add(0, 3, 3, "Unified", "32768K", "0");
    files.add(1, 3, 3, "Unified", size, "1");
    EXPECT_EQ(read_last_level_caches(files.root()).bytes, 0u) << size;
  }
}

}  // namespace
}  // namespace lci::io
