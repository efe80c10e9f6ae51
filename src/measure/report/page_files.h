// The files of page/ and the charting libraries, as cmake/PqedgeEmbed.cmake puts them into the
// program.
#pragma once

#include <string_view>

namespace pqedge::measure::report {

extern const std::string_view kPageHtml;
extern const std::string_view kMethodologyHtml;
extern const std::string_view kStyleCss;
extern const std::string_view kTabsJs;
extern const std::string_view kTablesJs;
extern const std::string_view kChartsJs;
extern const std::string_view kChartsTracksJs;
extern const std::string_view kChartsBytesJs;
extern const std::string_view kChartsTimeJs;
extern const std::string_view kD3Js;
extern const std::string_view kPlotJs;
extern const std::string_view kD3Licence;
extern const std::string_view kPlotLicence;
extern const std::string_view kD3Package;  // package.json, for its version
extern const std::string_view kPlotPackage;

}  // namespace pqedge::measure::report
