#include "measure/report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "measure/report/format.h"

namespace pqedge::measure::report {
namespace {

TEST(ReportHtml, EscapesWhatCouldEndAnElementOrAnAttribute) {
  EXPECT_EQ(escape_html("</script><b a='1' c=\"2\">&amp;"),
            "&lt;/script&gt;&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
  EXPECT_EQ(escape_html("5 \u00b5s \u00d7 2 \U0001F600"), "5 \u00b5s \u00d7 2 \U0001F600");
}

TEST(ReportHtml, HiddenAndBrokenCharactersBecomeVisible) {
  const std::string bad = "\uFFFD";
  EXPECT_EQ(escape_html(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(escape_html("a\x1b[31m"), "a" + bad + "[31m");
  EXPECT_EQ(escape_html("\u202Ecba"), bad + "cba");  // right-to-left override
  EXPECT_EQ(escape_html("\u2066x\u2069"), bad + "x" + bad);
  EXPECT_EQ(escape_html("\xC0\xBC"), bad + bad);            // '<' made overlong
  EXPECT_EQ(escape_html("\xED\xA0\x80"), bad + bad + bad);  // a surrogate
  EXPECT_EQ(escape_html("\xF5\x80\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(escape_html("x\xE2\x82"), "x" + bad + bad);  // cut short
}

TEST(ReportHtml, AttributesAreEscaped) {
  Html html;
  html.element("a", "<", {{"href", "\"><script>"}});
  EXPECT_EQ(html.str(), "<a href=\"&quot;&gt;&lt;script&gt;\">&lt;</a>");
}

TEST(ReportHtml, TableRowsCarryStatesKeysAndSpans) {
  Table table;
  table.id = "t";
  table.caption = "Of <things>";
  table.columns = {{"Suite", false}, {"Median"}, {"Bytes"}};
  table.rows.push_back(
      {{{.text = "X25519"}, {.text = "5 \u00b5s", .value = 5.25}, {.text = "64"}}});
  Row absent;
  absent.state = "absent";
  absent.cells = {{.text = "<b>"}, {.text = "no library", .badge = "absent"}};
  table.rows.push_back(absent);
  Html html;
  write_table(html, table);
  const std::string& out = html.str();
  EXPECT_NE(out.find("<caption id=\"t-c\">Of &lt;things&gt;</caption>"), std::string::npos) << out;
  EXPECT_NE(out.find("<td class=\"n\" data-v=\"5.25\">5 \u00b5s</td>"), std::string::npos) << out;
  EXPECT_NE(out.find("<tbody class=\"absent\"><tr><th scope=\"row\">&lt;b&gt;</th><td "
                     "colspan=\"2\"><span class=\"badge absent\">absent</span> no library</td>"),
            std::string::npos)
      << out;
}

TEST(ReportFormat, TimesChangeTheirUnit) {
  EXPECT_EQ(format_time(0.5), "0.50\u00a0\u00b5s");
  EXPECT_EQ(format_time(83.34), "83.3\u00a0\u00b5s");
  EXPECT_EQ(format_time(999.97), "1.00\u00a0ms");
  EXPECT_EQ(format_time(18560), "18.6\u00a0ms");
  EXPECT_EQ(format_time(851440), "851.4\u00a0ms");
  EXPECT_EQ(format_time(1'200'000), "1.20\u00a0s");
  EXPECT_EQ(format_time(std::numeric_limits<double>::infinity()), "\u2013");
}

TEST(ReportFormat, NumbersAreGrouped) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_number(-1234.56, 1), "\u22121,234.6");
  EXPECT_EQ(format_number(-0.001, 1), "0.0");
  EXPECT_EQ(format_number(std::nan(""), 1), "\u2013");
  EXPECT_EQ(format_multiple(1.994), "1.99\u00d7");
  EXPECT_EQ(format_multiple(16.78), "16.8\u00d7");
  EXPECT_EQ(format_bytes(2336), "2,336\u00a0B");
}

TEST(ReportFormat, DatesAreShortAndOthersStay) {
  EXPECT_EQ(format_date("2026-11-30T18:20:07Z"), "2026-11-30 18:20 UTC");
  EXPECT_EQ(format_date("yesterday"), "yesterday");
}

}  // namespace
}  // namespace pqedge::measure::report
