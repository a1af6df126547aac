#include "benchmarks/perf/output.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

surroundings somewhere(output_format format, test_kind test = test_kind::latency) {
  surroundings where;
  where.chosen.op = operation::put_signal;
  where.chosen.test = test;
  where.chosen.threads = 4;
  where.chosen.devices = "dedicated";
  where.chosen.device_count = 4;
  where.chosen.format = format;
  where.version = "1.2.3";
  where.backend = "shm";
  where.processor = "A \"fast\" CPU, new (8 processors)";
  where.ranks = 6;
  where.clock_ns = 20.5;
  return where;
}

figures some_figures() {
  figures result;
  result.size = 4096;
  result.iterations = 1000;
  result.latency_us_mean = 1.5;
  result.latency_us_p50 = 1.25;
  result.latency_us_p90 = 2;
  result.latency_us_p99 = 3.125;
  result.latency_us_p999 = 40;
  result.latency_us_max = 1234.5;
  result.messages_per_s = 12345678.4;
  result.bytes_per_s = 12345678.4 * 4096;
  result.cpu_user_us = 0.3125;
  result.cpu_system_us = 0.0625;
  return result;
}

TEST(output, text_begins_with_what_was_measured_where) {
  EXPECT_THAT(
      header(somewhere(output_format::text)),
      AllOf(HasSubstr("# LCI 1.2.3 lci_perf: latency of put_signal\n"),
            HasSubstr("backend shm, 6 ranks in 3 pairs, threads 4, devices dedicated (4), "
                      "completion queue\n"),
            HasSubstr("# CPU A \"fast\" CPU, new (8 processors), bind core, memory registered, "
                      "buffers malloc\n")));
  EXPECT_THAT(header(somewhere(output_format::text, test_kind::rate)), HasSubstr(", window 64\n"));
  surroundings where = somewhere(output_format::text);
  where.device = "mlx5_0";
  where.chosen.validate = true;
  EXPECT_THAT(header(where), AllOf(HasSubstr("backend shm (mlx5_0)"),
                                   HasSubstr("# data validated, which the figures include\n")));
}

TEST(output, text_has_one_line_a_size_under_its_titles) {
  surroundings where = somewhere(output_format::text);
  EXPECT_THAT(
      header(where),
      HasSubstr("\n# Size              Mean          p50          p90          p99        p99.9"
                "          Max         User       System\n"));
  EXPECT_EQ(line(where, some_figures()),
            "4096               1.500        1.250        2.000        3.125       40.000"
            "     1234.500       0.3125       0.0625\n");
  where.chosen.test = test_kind::bandwidth;
  EXPECT_THAT(
      header(where),
      HasSubstr("\n# Size      Bandwidth (MB/s)       Messages/s         User       System\n"));
  EXPECT_EQ(line(where, some_figures()),
            "4096                50567.90         12345678       0.3125       0.0625\n");
}

TEST(output, json_is_an_object_a_line) {
  const surroundings where = somewhere(output_format::json);
  EXPECT_EQ(header(where), "");
  const std::string expected =
      R"({"op": "put_signal", "test": "latency", "size": 4096, "threads": 4, )"
      R"("devices": "dedicated", "device_count": 4, "backend": "shm", "ranks": 6, )"
      R"("completion": "queue", "window": 64, "iterations": 1000, "validate": false, )"
      R"("bind": "core", "memory": "registered", "buffers": "malloc", "yield": 0, )"
      R"("latency_us_mean": 1.5, "latency_us_p50": 1.25, )"
      R"("latency_us_p90": 2, "latency_us_p99": 3.125, "latency_us_p999": 40, )"
      R"("latency_us_max": 1234.5, "messages_per_s": 12345678.4, "bytes_per_s": 50567898726.4, )"
      R"("cpu_user_us": 0.3125, "cpu_system_us": 0.0625, )"
      R"_("clock_ns": 20.5, "processor": "A \"fast\" CPU, new (8 processors)", )_"
      R"("version": "1.2.3", "persistent": false, "read": false})"
      "\n";
  EXPECT_EQ(line(where, some_figures()), expected);
}

TEST(output, json_escapes_control_characters) {
  surroundings where = somewhere(output_format::json);
  where.processor = "a\tb\\";
  const std::string expected = R"("processor": "a\u0009b\\")";
  EXPECT_THAT(line(where, some_figures()), HasSubstr(expected));
}

TEST(output, csv_has_the_same_fields) {
  const surroundings where = somewhere(output_format::csv);
  EXPECT_EQ(header(where),
            "op,test,size,threads,devices,device_count,backend,ranks,completion,window,iterations,"
            "validate,bind,memory,buffers,yield,latency_us_mean,latency_us_p50,latency_us_p90,"
            "latency_us_p99,latency_us_p999,latency_us_max,messages_per_s,bytes_per_s,cpu_user_us,"
            "cpu_system_us,clock_ns,processor,"
            "version,persistent,read\n");
  EXPECT_EQ(
      line(where, some_figures()),
      "put_signal,latency,4096,4,dedicated,4,shm,6,queue,64,1000,false,core,registered,malloc,0,"
      "1.5,1.25,2,3.125,40,1234.5,12345678.4,50567898726.4,0.3125,0.0625,20.5,\"A \"\"fast\"\" "
      "CPU, new (8 "
      "processors)\","
      "1.2.3,false,false\n");
}

surroundings of_overlap(output_format format) {
  surroundings where = somewhere(format);
  where.chosen.op = operation::allreduce;
  where.chosen.persistent = true;
  where.chosen.overlap = true;
  where.chosen.progress_calls = 9;
  return where;
}

figures with_overlap() {
  figures result = some_figures();
  result.overlap.percent = 87.5;
  result.overlap.total_us = 1.75;
  result.overlap.start_us = 0.125;
  result.overlap.compute_us = 1.5625;
  result.overlap.progress_us = 0.03125;
  result.overlap.wait_us = 0.0625;
  return result;
}

TEST(output, text_of_overlap_has_columns_of_its_own) {
  const surroundings where = of_overlap(output_format::text);
  EXPECT_THAT(
      header(where),
      AllOf(
          HasSubstr(" lci_perf: overlap of allreduce (persistent)\n"), HasSubstr("(9 calls)"),
          HasSubstr("\n# Size           Latency        Total        Start      Compute     Progress"
                    "         Wait      Overlap\n")));
  EXPECT_EQ(line(where, with_overlap()),
            "4096               1.500        1.750        0.125        1.562        0.031"
            "        0.062         87.5\n");
}

TEST(output, csv_and_json_of_overlap_have_further_fields) {
  EXPECT_THAT(header(of_overlap(output_format::csv)),
              HasSubstr(",version,persistent,read,progress_calls,overlap_percent,total_us,start_us,"
                        "compute_us,progress_us,wait_us\n"));
  EXPECT_THAT(line(of_overlap(output_format::csv), with_overlap()),
              HasSubstr(",1.2.3,true,false,9,87.5,1.75,0.125,1.5625,0.03125,0.0625\n"));
  const std::string fields =
      R"("persistent": true, "read": false, "progress_calls": 9, "overlap_percent": 87.5, )"
      R"("total_us": 1.75, "start_us": 0.125, "compute_us": 1.5625, "progress_us": 0.03125, "wait_us": 0.0625})";
  EXPECT_THAT(line(of_overlap(output_format::json), with_overlap()), HasSubstr(fields));
}

}  // namespace
}  // namespace perf
