// The official schema is looked at in tests/integration/test_pqcost_records.py.
#include "measure/record/cbom.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "unit/measure/record_fixture.h"

namespace pqedge::measure {
namespace {

using Json = nlohmann::json;

Json bom_of(const Record& record) { return Json::parse(to_cyclonedx(record)); }

Record measured() {
  Record r = test::full_record();
  r.withheld.reset();
  return r;
}

const Json* component(const Json& bom, std::string_view ref) {
  for (const Json& c : bom["components"]) {
    if (c["bom-ref"] == ref) return &c;
  }
  return nullptr;
}

std::string property(const Json& component, std::string_view name) {
  for (const Json& p : component["properties"]) {
    if (p["name"] == name) return p["value"];
  }
  return "";
}

TEST(RecordCbom, NamesEachAlgorithmWithItsCost) {
  const Json bom = bom_of(measured());
  const Json* kem = component(bom, "algorithm/ML-KEM-768/OpenSSL/3.5.9");
  ASSERT_NE(kem, nullptr);
  const Json& p = (*kem)["cryptoProperties"]["algorithmProperties"];
  EXPECT_EQ(p["primitive"], "kem");
  EXPECT_EQ(p["parameterSetIdentifier"], "768");
  EXPECT_EQ(p["nistQuantumSecurityLevel"], 3);  // FIPS 203 table 2
  EXPECT_EQ(p["cryptoFunctions"], Json({"decapsulate", "encapsulate", "keygen"}));
  EXPECT_EQ((*kem)["cryptoProperties"]["oid"], "2.16.840.1.101.3.4.4.2");
  EXPECT_NEAR(std::stod(property(*kem, "pqcost:encapsulate:mean_us")), 30, 1e-9);
  EXPECT_EQ(property(*kem, "pqcost:encapsulate:iterations"), "200");
  EXPECT_EQ(property(*kem, "pqcost:family"), "lattice");
  EXPECT_EQ((*kem)["evidence"]["occurrences"].size(), 1U);
}

TEST(RecordCbom, AHybridDependsOnItsParts) {
  const Json bom = bom_of(measured());
  const std::string ref = "exchange/tls/X25519MLKEM768/OpenSSL/3.5.9";
  const Json* hybrid = component(bom, ref);
  ASSERT_NE(hybrid, nullptr);
  EXPECT_EQ((*hybrid)["cryptoProperties"]["algorithmProperties"]["primitive"], "combiner");
  EXPECT_EQ(property(*hybrid, "pqcost:bytes:wire"), "2336");
  EXPECT_NEAR(std::stod(property(*hybrid, "pqcost:composed:mean_us")), 270, 1e-9);
  bool found = false;
  for (const Json& d : bom["dependencies"]) {
    if (d["ref"] != ref) continue;
    found = true;
    EXPECT_EQ(d["dependsOn"],
              Json({"algorithm/ML-KEM-768/OpenSSL/3.5.9", "algorithm/X25519/OpenSSL/3.5.9"}));
  }
  EXPECT_TRUE(found);
}

TEST(RecordCbom, WithheldFiguresAreNotGiven) {
  const Json bom = bom_of(measured());
  const Json* dsa = component(bom, "algorithm/ML-DSA-65/OpenSSL/3.5.9");
  ASSERT_NE(dsa, nullptr);
  EXPECT_EQ(property(*dsa, "pqcost:sign:mean_us"), "");
  EXPECT_EQ(property(*dsa, "pqcost:sign:withheld"), "steal was 3.1 %, more than 1 %");
  EXPECT_EQ(component(bom, "algorithm/Falcon-512 (round 3)/OpenSSL/3.5.9"), nullptr)
      << "what is absent is no component";
}

TEST(RecordCbom, ReferencesAreUniqueAndMet) {
  const Json bom = bom_of(measured());
  std::set<std::string> refs;
  for (const Json& c : bom["components"]) {
    EXPECT_TRUE(refs.insert(c["bom-ref"].get<std::string>()).second) << c["bom-ref"];
  }
  for (const Json& d : bom["dependencies"]) {
    EXPECT_TRUE(refs.contains(d["ref"].get<std::string>()));
    for (const char* list : {"dependsOn", "provides"}) {
      if (!d.contains(list)) continue;
      for (const Json& ref : d[list]) EXPECT_TRUE(refs.contains(ref.get<std::string>())) << ref;
    }
  }
}

TEST(RecordCbom, SerialNumberIsARandomUuid) {
  EXPECT_EQ(bom_of(measured())["serialNumber"], "urn:uuid:01234567-89ab-4def-8123-456789abcdef");
}

}  // namespace
}  // namespace pqedge::measure
