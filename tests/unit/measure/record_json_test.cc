#include "measure/record/json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "unit/measure/record_fixture.h"

namespace pqedge::measure {
namespace {

using Json = nlohmann::ordered_json;

// What reading says about a record after `edit` changed its JSON.
template <typename Edit>
std::string refusal(Edit&& edit) {
  Json json = Json::parse(to_json(test::small_record()));
  edit(json);
  const auto read = from_json(json.dump(), "r.json");
  return read ? "" : read.error().message;
}

TEST(RecordJson, ReadsBackAsItWasWritten) {
  for (const Record& record : {test::small_record(), test::full_record()}) {
    const std::string text = to_json(record);
    const auto read = from_json(text, "r.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_json(*read), text);
  }
}

TEST(RecordJson, HasTheNamesThatOthersReadItBy) {
  const Json json = Json::parse(to_json(test::small_record()));
  EXPECT_EQ(json["schema"], "pqcost-record/1");
  EXPECT_TRUE(json["environment"].is_object());
  const Json& track = json["tracks"][0];
  EXPECT_EQ(track["name"], "tls");
  const Json& suite = track["suites"][1];
  EXPECT_EQ(suite["name"], "X25519MLKEM768");
  EXPECT_EQ(suite["baseline"], false);
  EXPECT_EQ(suite["wire_bytes"], 2336);
  EXPECT_EQ(suite["wire_bytes_by_direction"]["client_to_server"], 1216);
  for (const char* name : {"name", "weight", "mean_us", "median_us", "p95_us", "p99_us", "stdev_us",
                           "min_us", "max_us", "iterations"}) {
    EXPECT_TRUE(suite["phases"][0].contains(name)) << name;
  }
  for (const char* name : {"mean_us", "median_us", "p95_us", "p99_us", "stdev_us", "min_us",
                           "max_us", "iterations", "tail", "ops_per_second"}) {
    EXPECT_TRUE(suite["composed"].contains(name)) << name;
  }
}

TEST(RecordJson, TheSumHoldsInWhatWasWritten) {
  const Json json = Json::parse(to_json(test::small_record()));
  for (const Json& suite : json["tracks"][0]["suites"]) {
    double sum = 0;
    for (const Json& phase : suite["phases"]) {
      sum += phase["weight"].get<double>() * phase["mean_us"].get<double>();
    }
    EXPECT_NEAR(suite["composed"]["mean_us"].get<double>() / sum, 1, 2e-5);
  }
  // One weight of one phase: the record is refused, with the place.
  const std::string why =
      refusal([](Json& j) { j["tracks"][0]["suites"][0]["phases"][1]["weight"] = 1; });
  EXPECT_NE(why.find("tracks[0].suites[0].composed.mean_us"), std::string::npos) << why;
  EXPECT_NE(why.find("phases by weight add to 100"), std::string::npos) << why;
}

TEST(RecordJson, EveryDoubleComesBackExactly) {
  for (const double value : {0.1 + 0.2, 1.0 / 3, 1e-9, 123456789.123456789, 1e21, 5e-324,
                             std::numeric_limits<double>::max()}) {
    Record record = test::small_record();
    record.environment.clock_overhead_ns = value;
    const auto read = from_json(to_json(record), "r.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->environment.clock_overhead_ns, value);
  }
}

TEST(RecordJson, AbsentFiguresAreLeftOutButForP99) {
  Record record = test::small_record();
  std::vector<double> few = test::samples_around(10);
  few.resize(20);
  record.tracks[0].suites[0].end_to_end = summarize(few);
  const Json json = Json::parse(to_json(record));
  const Json& suite = json["tracks"][0]["suites"][0];
  EXPECT_TRUE(suite["end_to_end"]["p99_us"].is_null());
  EXPECT_FALSE(suite.contains("client"));
  EXPECT_FALSE(suite.contains("against_baseline"));
  EXPECT_FALSE(suite["phases"][0].contains("samples_us"));
  EXPECT_TRUE(from_json(to_json(record), "r.json"));
}

TEST(RecordJson, ATruncatedFileIsCalledTruncated) {
  const std::string text = to_json(test::small_record());
  for (size_t size = 1; size < text.size() - 2; size += 97) {
    const auto read = from_json(std::string_view(text).substr(0, size), "r.json");
    ASSERT_FALSE(read) << size;
    EXPECT_NE(read.error().message.find("r.json:"), std::string::npos);
    EXPECT_NE(read.error().message.find("truncated"), std::string::npos) << read.error().message;
  }
  EXPECT_NE(from_json("  \n", "r.json").error().message.find("is empty"), std::string::npos);
}

TEST(RecordJson, SyntaxErrorsHaveTheirLine) {
  const auto read = from_json("{\n  \"schema\": \"pqcost-record/1\",\n  oops\n}\n", "r.json");
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message.starts_with("r.json:3:3: not JSON")) << read.error().message;
}

TEST(RecordJson, OtherSchemasAreNamedBeforeAllElse) {
  const auto said = [](const char* schema) {
    return from_json(std::string(R"({"schema":)") + schema + "}", "r.json").error().message;
  };
  EXPECT_NE(said("\"pqcost-record/0\"").find("older"), std::string::npos);
  EXPECT_NE(said("\"pqcost-record/2\"").find("newer"), std::string::npos);
  EXPECT_NE(said("\"other/1\"").find("none of pqcost's"), std::string::npos);
  EXPECT_NE(said("1").find("no record of pqcost"), std::string::npos);
  EXPECT_NE(from_json("[]", "r.json").error().message.find("no record of pqcost"),
            std::string::npos);
}

struct Case {
  const char* name;
  std::function<void(Json&)> edit;
  const char* says;
};

TEST(RecordJson, EditedRecordsAreRefusedWithTheirPath) {
  const auto suite = [](Json& j) -> Json& { return j["tracks"][0]["suites"][1]; };
  const std::vector<Case> cases = {
      {"a text for a number", [&](Json& j) { suite(j)["phases"][0]["mean_us"] = "50"; },
       "tracks[0].suites[1].phases[0].mean_us is not a number"},
      {"a number for a text", [&](Json& j) { suite(j)["name"] = 1; },
       "tracks[0].suites[1].name is not a text"},
      {"a negative figure", [&](Json& j) { suite(j)["end_to_end"]["stdev_us"] = -1; },
       "tracks[0].suites[1].end_to_end.stdev_us is negative"},
      {"a negative count", [&](Json& j) { suite(j)["end_to_end"]["iterations"] = -5; },
       "tracks[0].suites[1].end_to_end.iterations is negative"},
      {"a fraction for a count", [&](Json& j) { suite(j)["end_to_end"]["iterations"] = 1.5; },
       "iterations is not a whole number"},
      {"a count too large", [&](Json& j) { suite(j)["code_point"] = 1ULL << 40; },
       "code_point is too large"},
      {"a missing member", [&](Json& j) { suite(j).erase("family"); },
       "tracks[0].suites[1].family is missing"},
      {"an unknown member", [&](Json& j) { suite(j)["provder"] = "x"; },
       "tracks[0].suites[1].provder is not a member of schema pqcost-record/1; did you mean "
       "\"provider\"?"},
      {"bytes that do not add", [&](Json& j) { suite(j)["wire_bytes"] = 2337; },
       "tracks[0].suites[1].wire_bytes is 2337, but its parts add to 2336"},
      {"percentiles that fall", [&](Json& j) { suite(j)["composed"]["p95_us"] = 1; },
       "composed.p95_us is smaller than median_us"},
      {"a tail that does not follow", [&](Json& j) { suite(j)["composed"]["tail"] = 7; },
       "composed.tail is not max_us over mean_us"},
      {"operations that do not follow",
       [&](Json& j) { suite(j)["composed"]["ops_per_second"] = 7; },
       "composed.ops_per_second is not a million over mean_us"},
      {"a p99 of too few", [&](Json& j) { suite(j)["composed"]["iterations"] = 99; },
       "composed.p99_us is given for 99 iterations"},
      {"a null", [&](Json& j) { j["environment"]["noise"]["steal_percent"] = nullptr; },
       "environment.noise.steal_percent is not a number"},
      {"an interval that ends early",
       [&](Json& j) { suite(j)["against_baseline"]["ci95"] = {2, 1}; },
       "against_baseline.ci95 ends before it begins"},
      {"three ends", [&](Json& j) { suite(j)["against_baseline"]["ci95"] = {1, 2, 3}; },
       "against_baseline.ci95 is not a pair of numbers"},
      {"a date", [&](Json& j) { j["environment"]["date"] = "30 November"; },
       "environment.date is not a date"},
      {"an id", [&](Json& j) { j["id"] = "1"; }, "id is not 32 hexadecimal digits"},
      {"a list for an object", [&](Json& j) { j["environment"] = Json::array(); },
       "environment is not an object"},
      {"an object for a list", [&](Json& j) { j["tracks"] = Json::object(); },
       "tracks is not a list"},
  };
  for (const Case& c : cases) {
    const std::string why = refusal(c.edit);
    EXPECT_NE(why.find(c.says), std::string::npos) << c.name << ": " << why;
    EXPECT_TRUE(why.starts_with("r.json: ")) << why;
  }
}

TEST(RecordJson, MembersThatAreThereTwiceAreRefused) {
  std::string text = to_json(test::small_record());
  text.insert(text.find("\"schema\""), "\"complete\": false, ");
  const auto read = from_json(text, "r.json");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("\"complete\" is there twice"), std::string::npos);
}

TEST(RecordJson, NamesFromTheFileDoNotReachATerminalRaw) {
  const std::string why = refusal([](Json& j) { j["\x1b[2J"] = 1; });
  EXPECT_NE(why.find("\\x1b[2J is not a member"), std::string::npos) << why;
}

TEST(RecordJson, DeepNestingEndsEarly) {
  const std::string deep(100'000, '[');
  const auto read = from_json(deep, "r.json");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("nested deeper than 16"), std::string::npos);
}

TEST(RecordJson, ARecordOutOfOrderIsNotWritten) {
  Record record = test::small_record();
  record.tracks[0].suites[0].composed->mean_us = std::numeric_limits<double>::quiet_NaN();
  const std::string path = testing::TempDir() + "/not-written.json";
  const auto written = write_record(record, path);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("composed.mean_us is not finite"), std::string::npos);
  EXPECT_FALSE(std::ifstream(path));
}

TEST(RecordJson, BytesThatAreNotTextDoNotBreakIt) {
  Record record = test::small_record();
  record.environment.command_line = "pqcost \xff\x01 \"quoted\"";
  EXPECT_TRUE(from_json(to_json(record), "r.json"));
}

TEST(RecordJson, IdsAreRandomAndDatesAreUtc) {
  Record record = test::small_record();
  record.id = new_record_id();
  record.environment.date = date_now();
  EXPECT_TRUE(check_record(record)) << check_record(record).error().message;
  EXPECT_NE(new_record_id(), record.id);
}

TEST(RecordJson, ThePublishedSchemaIsThatOfTheStructs) {
  const char* source = std::getenv("PQEDGE_SRC");
  std::ifstream file(std::string(source == nullptr ? "." : source) +
                     "/docs/pqcost-record.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), record_schema())
      << "write it anew: pqcost convert --schema -o docs/pqcost-record.schema.json";
}

}  // namespace
}  // namespace pqedge::measure
