"""Records as files: schema, other forms, comparison, history, bill of materials (M15, M17, M25)."""
# ctest: timeout=300

import copy
import csv
import io
import json
import os

import harness
import jsonschema
import referencing

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")
SCHEMA = harness.SOURCE / "docs" / "pqcost-record.schema.json"
CYCLONEDX = (harness.SOURCE / "node_modules" / "@cyclonedx" / "cyclonedx-library" / "res" /
             "schema")

FIGURES = ("mean_us", "median_us", "p95_us", "p99_us", "stdev_us", "min_us", "max_us",
           "mean_ci95_us")


def pqcost(*arguments):
    return harness.run(PQCOST, *arguments, timeout=200 * harness.SLOW)


def scale(figures, factor):
    """A summary as if everything had taken `factor` as long."""
    for name in FIGURES:
        if figures[name] is not None:
            figures[name] *= factor
    figures["ops_per_second"] /= factor


def slower(record, factor):
    record = copy.deepcopy(record)
    for track in record["tracks"]:
        for suite in track["suites"]:
            for phase in suite["phases"]:
                scale(phase, factor)
            for name in ("composed", "client", "server", "end_to_end"):
                if name in suite:
                    scale(suite[name], factor)
    return record


def quiet(record):
    """Whatever else this machine did meanwhile: what is tested here is the reading of records."""
    record = copy.deepcopy(record)
    record.pop("withheld", None)
    record["environment"]["noise"].update(spread_percent=0.5, reference_us=100.0)
    for track in record["tracks"]:
        for suite in track["suites"]:
            suite.pop("withheld", None)
            for name in ("composed", "end_to_end", "client", "server"):
                if name in suite:
                    calm(suite[name])
            for phase in suite["phases"]:
                calm(phase)
                phase.pop("samples_us", None)
    return record


def calm(figures):
    """A spread that an interval of means can tell something from."""
    figures["stdev_us"] = figures["mean_us"] / 100


class Records(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        done = pqcost("run", "tls", "signatures", "bulk", "--suite", "X25519MLKEM768",
                      "--suite", "ML-DSA-44", "--iterations", "20", "--seconds", "1",
                      "--threads", "0", "--quiet", "--samples", "--format", "json")
        assert done.returncode == 0, done.stderr.decode()
        cls.text = done.stdout.decode()
        cls.record = json.loads(cls.text)
        cls.quiet = quiet(cls.record)

    def write(self, name, record):
        path = self.directory / name
        path.write_text(record if isinstance(record, str) else json.dumps(record))
        return path

    def refused(self, *arguments, status=1):
        done = pqcost(*arguments)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    # ---- the schema ------------------------------------------------------------------------------

    def test_real_records_validate_against_the_published_schema(self):
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        validator.validate(self.record)
        done = pqcost("run", "chains", "tokens", "--quiet", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        flights = json.loads(done.stdout)
        self.assertTrue(flights["chains"] and flights["flights"] and flights["tokens"])
        validator.validate(flights)

    def test_the_schema_refuses_what_the_program_refuses(self):
        validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
        for what, edit in {
            "a negative figure": lambda r: r["environment"].update(clock_overhead_ns=-1),
            "an unknown member": lambda r: r.update(speed=1),
            "a missing member": lambda r: r["tracks"][0]["suites"][0].pop("wire_bytes"),
            "a text for a number": lambda r: r["tracks"][0]["suites"][0].update(wire_bytes="64"),
            "another schema": lambda r: r.update(schema="pqcost-record/0"),
        }.items():
            with self.subTest(what):
                record = copy.deepcopy(self.quiet)
                edit(record)
                self.assertFalse(validator.is_valid(record))
                self.assertIn("r.json", self.refused("convert", self.write("r.json", record)))

    def test_the_schema_can_be_asked_for(self):
        done = pqcost("convert", "--schema")
        self.assertEqual(done.stdout.decode(), SCHEMA.read_text())

    # ---- other forms -----------------------------------------------------------------------------

    def test_json_comes_back_byte_for_byte(self):
        done = pqcost("convert", self.write("r.json", self.text), "--format", "json")
        self.assertEqual(done.stdout.decode(), self.text)

    def test_csv_holds_each_figure(self):
        out = self.directory / "r.csv"
        done = pqcost("convert", self.write("r.json", self.text), "--format", "csv", "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        rows = list(csv.DictReader(io.StringIO(out.read_bytes().decode(), newline="")))
        for track in self.record["tracks"]:
            for suite in track["suites"]:
                for phase in suite["phases"]:
                    found = [r for r in rows
                             if (r["track"], r["suite"], r["item"], r["figure"]) ==
                             (track["name"], suite["name"], phase["name"], "mean")]
                    self.assertEqual([float(r["value"]) for r in found], [phase["mean_us"]])

    def test_samples_are_those_of_the_figures(self):
        done = pqcost("convert", self.write("r.json", self.text), "--format", "samples")
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        first = self.record["tracks"][0]["suites"][0]
        mine = [float(r["microseconds"]) for r in rows
                if (r["suite"], r["phase"]) == (first["name"], first["phases"][0]["name"])]
        self.assertEqual(len(mine), first["phases"][0]["iterations"])
        self.assertAlmostEqual(sum(mine) / len(mine), first["phases"][0]["mean_us"])

    def test_tables_for_people(self):
        path = self.write("r.json", self.text)
        for form in ("text", "markdown"):
            done = pqcost("convert", path, "--format", form)
            self.assertEqual(done.returncode, 0)
            self.assertIn("2,336 B", done.stdout.decode())
            self.assertIn("ML-DSA-44", done.stdout.decode())

    # ---- bad input -------------------------------------------------------------------------------

    def test_bad_records(self):
        newer = {**self.record, "schema": "pqcost-record/9"}
        wrong_sum = copy.deepcopy(self.quiet)
        wrong_sum["tracks"][0]["suites"][0]["phases"][0]["weight"] = 1
        for record, says in (
            (self.text[: len(self.text) // 2], "truncated"),
            ("", "empty"),
            ("not json", "not JSON"),
            (newer, "newer"),
            ({**self.record, "schema": "pqcost-record/0"}, "older"),
            (wrong_sum, "tracks[0].suites[0].composed.mean_us"),
            ({"schema": "pqcost-record/1"}, "id is missing"),
        ):
            path = self.write("r.json", record)
            for command in (["convert", path], ["cbom", path], ["compare", path, path],
                            ["calculate", "--record", path, "--connections-per-second", "1"]):
                with self.subTest(says=says, command=command[0]):
                    told = self.refused(*command)
                    self.assertIn(str(path), told)
                    self.assertIn(says, told)
        self.assertIn("No such file", self.refused("convert", self.directory / "none.json"))

    def test_a_full_disk_leaves_nothing_half_written(self):
        path = self.write("r.json", self.text)
        self.assertIn("No space left on device",
                      self.refused("convert", path, "--format", "json", "-o", "/dev/full"))
        self.assertEqual(list(self.directory.iterdir()), [path])

    def test_usage(self):
        for arguments in (["convert"], ["compare", "one"], ["cbom"], ["history"],
                          ["compare", "a", "b", "--threshold", "-1"],
                          ["convert", "x", "--format", "yaml"]):
            with self.subTest(arguments):
                self.refused(*arguments, status=2)

    # ---- comparison ------------------------------------------------------------------------------

    def test_compare_says_it_by_its_status(self):
        other = copy.deepcopy(self.quiet)
        other["environment"]["host"]["id"] = "another"
        noisy = {**self.quiet, "withheld": {"reason": "steal was 9 %"}}
        before = self.write("before.json", self.quiet)
        for after, status, says in (
            (self.quiet, 0, "none"),
            (slower(self.quiet, 3), 3, "regression"),
            (slower(self.quiet, 1 / 3), 0, "none"),
            (other, 4, "different hosts"),
            (noisy, 4, "steal was 9 %"),
        ):
            with self.subTest(says):
                done = pqcost("compare", before, self.write("after.json", after))
                self.assertEqual(done.returncode, status, done.stdout.decode())
                self.assertIn(says, done.stdout.decode())
        done = pqcost("compare", before, self.write("a.json", slower(self.quiet, 3)),
                      "--format", "json")
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "regression")
        self.assertTrue(all(f["evidence"] for f in found["findings"]))

    def test_folders_of_runs(self):
        for name, factor in (("before", 1), ("after", 1.5)):
            for day in range(1, 8):
                run = slower(self.quiet, factor * (1 + day / 1000))
                run["id"] = f"{day:032x}"
                run["environment"]["date"] = f"2026-11-{day:02}T00:00:00Z"
                done = pqcost("history", self.directory / name, "--add",
                              self.write("run.json", run), "--format", "json")
                self.assertEqual(done.returncode, 0, done.stderr.decode())
        shown = json.loads(done.stdout)
        self.assertEqual(len(shown["runs"]), 7)
        hybrid = next(s for s in shown["series"] if s["suite"] == "X25519MLKEM768")
        self.assertEqual(hybrid["median_us"]["runs"], 7)
        self.assertLess(hybrid["median_us"]["low"], hybrid["median_us"]["median"])
        done = pqcost("compare", self.directory / "before", self.directory / "after")
        self.assertEqual(done.returncode, 3)
        self.assertIn("7 and 7 runs", done.stdout.decode())
        done = pqcost("history", self.directory / "before", "--track", "tls")
        self.assertIn("7 runs", done.stdout.decode())

        (self.directory / "before" / "broken.json").write_text("{")
        done = pqcost("history", self.directory / "before")
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken.json", done.stderr.decode())
        self.assertIn("X25519MLKEM768", done.stdout.decode())
        self.assertIn("broken.json", self.refused("compare", self.directory / "before",
                                                  self.directory / "after"))

    def test_an_empty_folder(self):
        self.assertIn("holds no record", self.refused("history", self.directory))
        self.assertIn("holds no record", self.refused("compare", self.directory, self.directory))

    # ---- bill of materials -----------------------------------------------------------------------

    def test_the_bill_of_materials_is_cyclonedx(self):
        if not CYCLONEDX.exists():
            self.skipTest("the npm packages are missing: 'make deps' installs them")
        out = self.directory / "bom.json"
        done = pqcost("cbom", self.write("r.json", self.quiet), "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        bom = json.loads(out.read_text())

        def schema_of(name):
            return json.loads((CYCLONEDX / name).read_text())

        main = schema_of("bom-1.6.SNAPSHOT.schema.json")
        registry = referencing.Registry()
        for name in ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json"):
            resource = referencing.Resource.from_contents(schema_of(name))
            registry = registry.with_resources([(name, resource),
                                                (f"http://cyclonedx.org/schema/{name}", resource)])
        jsonschema.Draft7Validator(main, registry=registry).validate(bom)
        bad = copy.deepcopy(bom)
        bad["components"][-1]["cryptoProperties"]["assetType"] = "algorythm"
        self.assertFalse(jsonschema.Draft7Validator(main, registry=registry).is_valid(bad))

        named = {c["name"]: c for c in bom["components"] if c["type"] == "cryptographic-asset"}
        self.assertEqual(
            named["ML-DSA-44"]["cryptoProperties"]["algorithmProperties"]["primitive"],
            "signature")
        costs = {p["name"]: p["value"] for p in named["ML-DSA-44"]["properties"]}
        signatures = next(t for t in self.quiet["tracks"] if t["name"] == "signatures")
        suite = next(s for s in signatures["suites"] if s["name"] == "ML-DSA-44")
        sign = next(p for p in suite["phases"] if p["name"] == "Sign")
        self.assertEqual(float(costs["pqcost:sign:median_us"]), sign["median_us"])
        self.assertIn(self.quiet["id"], named["ML-DSA-44"]["evidence"]["occurrences"][0]["location"])


if __name__ == "__main__":
    harness.main()
