#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "measure/record/csv.h"
#include "measure/record/files.h"
#include "measure/record/markdown.h"
#include "measure/record/text.h"
#include "unit/measure/record_fixture.h"

namespace pqedge::measure {
namespace {

// A reader of RFC 4180 of the test's own: rows of cells, CRLF between, quotes doubled.
std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& cell = rows.back().back();
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      rows.emplace_back(1);
    } else {
      cell += c;
    }
  }
  rows.pop_back();  // the last line ends too
  return rows;
}

TEST(RecordCsv, IsOneFigureARowOfFourteenCells) {
  const auto rows = parse_csv(to_csv(test::full_record()));
  ASSERT_GT(rows.size(), 100U);
  EXPECT_EQ(rows[0][0], "record");
  EXPECT_EQ(rows[0][10], "value");
  for (const auto& row : rows) EXPECT_EQ(row.size(), 14U) << row[0];
  const auto mean = std::ranges::find_if(rows, [](const auto& row) {
    return row[5] == "X25519" && row[8] == "composed" && row[9] == "mean";
  });
  ASSERT_NE(mean, rows.end());
  EXPECT_NEAR(std::stod((*mean)[10]), 140, 1e-9);
  EXPECT_EQ((*mean)[11], "us");
  EXPECT_EQ((*mean)[12], "200");
  EXPECT_EQ((*mean)[13], "the run's host was loaded: 2.3");
}

TEST(RecordCsv, QuotesWhatMustBeAndDisarmsFormulas) {
  Record record = test::small_record();
  record.environment.host.name = "=HYPERLINK(\"http://evil\",\"x\")";
  record.tracks[0].suites[0].name = "a,b\n\"c\"";
  record.tracks[0].suites[1].name = "@SUM(A1)";
  const std::string text = to_csv(record);
  const auto rows = parse_csv(text);
  EXPECT_EQ(rows[1][2], "'=HYPERLINK(\"http://evil\",\"x\")");
  EXPECT_EQ(rows[1][5], "a,b\n\"c\"");
  bool disarmed = false;
  for (const auto& row : rows) disarmed |= row[5] == "'@SUM(A1)";
  EXPECT_TRUE(disarmed);
  EXPECT_EQ(text.find(",=HYPER"), std::string::npos);
}

TEST(RecordCsv, SamplesAreOneARow) {
  const auto rows = parse_csv(samples_to_csv(test::full_record()));
  ASSERT_EQ(rows.size(), 201U);
  EXPECT_EQ(rows[200][5], "199");
  EXPECT_NEAR(std::stod(rows[200][6]), 33, 1e-9);
}

TEST(RecordText, FiguresHaveThreeDigits) {
  EXPECT_EQ(time_text(0.0412), "0.0412 µs");
  EXPECT_EQ(time_text(36), "36.0 µs");
  EXPECT_EQ(time_text(999.4), "999 µs");
  EXPECT_EQ(time_text(999.6), "1.00 ms");
  EXPECT_EQ(time_text(1'234'567), "1.23 s");
  EXPECT_EQ(time_text(5e9), "5000 s");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
  EXPECT_EQ(change_text(1.2789), "+27.9 %");
  EXPECT_EQ(change_text(0.5), "-50.0 %");
}

TEST(RecordText, ColumnsAreAsWideAsTheirWidest) {
  TextTable table({{"a"}, {"long", TextTable::Align::right}, {"c"}});
  table.add({"µµµ", "1"});
  table.add({"x", "22222", "end"});
  EXPECT_EQ(table.text(),
            "a     long  c\n"
            "µµµ      1\n"
            "x    22222  end\n");
  EXPECT_EQ(table.markdown(),
            "| a | long | c |\n|---|---:|---|\n| µµµ | 1 |  |\n| x | 22222 | end |\n");
}

TEST(RecordText, SaysWhyARowHasNoFigures) {
  for (const std::string& text : {to_text(test::full_record()), to_markdown(test::full_record())}) {
    EXPECT_NE(text.find("steal was 3.1 %, more than 1 %"), std::string::npos);
    EXPECT_NE(text.find("no library here has it"), std::string::npos);
    EXPECT_NE(text.find("Withheld: the run's host was loaded: 2.3"), std::string::npos);
    EXPECT_NE(text.find("not installed"), std::string::npos);
    EXPECT_EQ(text.find("900 µs"), std::string::npos) << "a withheld figure is shown";
  }
}

TEST(RecordMarkdown, CellsCannotLeaveTheirTable) {
  const std::string text = to_markdown(test::full_record());
  EXPECT_NE(text.find("a \\| bar, a &lt;tag>"), std::string::npos);
}

class RecordFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/record_files";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  std::string content(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string folder_;
};

TEST_F(RecordFiles, AreReplacedWholeAndLeaveNothingBeside) {
  const std::string path = folder_ + "/a.json";
  ASSERT_TRUE(write_file(path, "one"));
  ::chmod(path.c_str(), 0600);
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(content(path), "two");
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(RecordFiles, AFullDiskIsSaidSo) {
  const auto written = write_file("/dev/full", "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "cannot write /dev/full: No space left on device");
}

TEST_F(RecordFiles, AFolderThatIsNotThereIsSaidSo) {
  const auto written = write_file(folder_ + "/none/a.json", "text");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("No such file"), std::string::npos);
}

TEST_F(RecordFiles, AreReadUpToTheirLimit) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(write_file(path, std::string(1000, 'x')));
  EXPECT_EQ(read_file(path, 1000)->size(), 1000U);
  EXPECT_FALSE(read_file(path, 999));
  EXPECT_FALSE(read_file(folder_, 10));
  EXPECT_FALSE(read_file(path + "2", 10));
}

}  // namespace
}  // namespace pqedge::measure
