"""docs/conformance.md: every test that it names exists, and it says what its tables say."""

import pathlib
import tempfile
import unittest

import musts


class Page(unittest.TestCase):
    def test_every_demand_is_held_and_the_page_is_up_to_date(self):
        tables, tests = musts.load(), musts.Tests(musts.SOURCE)
        self.assertEqual(musts.problems(tables, tests), [])
        made, there = musts.page(tables, tests), musts.PAGE.read_text()
        wrong = musts.differences(there, made)
        if wrong:
            self.fail("run python3 tests/conformance/musts.py --write:\n" +
                      "\n".join(f"- {old}\n+ {new}" for old, new in wrong))

    def test_sections_are_in_order_and_no_demand_is_there_twice(self):
        for table in musts.load():
            with self.subTest(rfc=table.rfc):
                keys = [[int(n) if n.isdigit() else 1000 + ord(n) for n in d.section.split(".")]
                        for d in table.demands]
                self.assertEqual(keys, sorted(keys))
                self.assertEqual(len({d.text for d in table.demands}), len(table.demands))


class Reading(unittest.TestCase):
    def test_mentions(self):
        text = """// RFC 9110 7.6.1, 7.6.3. And RFC 9112 6.1 and 6.3: x
            # RFC 9113 8.1,
            # RFC 9114 4.1 has RFC 8446 C.4, RFC 6455 in 3 ways; RFC 9113, 7541, 3.4"""
        self.assertEqual(list(musts.mentions(text)), [
            ("9110", "7.6.1"), ("9110", "7.6.3"), ("9112", "6.1"), ("9112", "6.3"), ("9113", "8.1"),
            ("9114", "4.1"), ("8446", "C.4"), ("9113", "3.4")])

    def test_a_page_that_is_out_of_date(self):
        row = "| [1](x) | both | This. | `A.B`, `c.py` |"
        for new, fits in ((row, True), ("| [1](x) | both | This. | `A.B`, `b.py`, `c.py` |", True),
                          ("| [1](x) | both | This. | `A.B` |", False),
                          ("| [1](x) | both | That. | `A.B`, `c.py` |", False),
                          ("| [1](x) | clients | This. | `A.B`, `c.py` |", False),
                          ("| [1](x) | both | This. | no test: none |", False)):
            with self.subTest(new):
                self.assertEqual(musts.differences(row, new), [] if fits else [(row, new)])
        self.assertNotEqual(musts.differences(row, row + "\n" + row), [])
        self.assertNotEqual(musts.differences("3 demands: 3", "3 demands: 2"), [])

    def test_what_is_wrong_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "tests" / "unit").mkdir(parents=True)
            (root / "tests" / "unit" / "a_test.cc").write_text("TEST(A, B) {}  // RFC 1 2.3\n")
            (root / "tests" / "integration").mkdir()
            (root / "tests" / "integration" / "test_x.py").write_text(
                "class X:\n    def test_y(self):\n        # RFC 9999 2.1\n        pass\n")
            tests = musts.Tests(root)
            table = root / "rfc9999.txt"
            for held, wrong in (("A.B, x:test_y", None), ("A.C", "no unit test"), ("x:test_z", "no test_z"),
                                ("z:test_y", "no file"), ("fuzz:q", "no fuzz target"),
                                ("by section", None), ("none: it cannot be", None),
                                ("", "nothing holds it")):
                with self.subTest(held=held):
                    table.write_text(f"# T\n2.1 | clients | This.\n    {held}\n")
                    found = musts.problems([musts.Table(table)], tests)
                    self.assertEqual(len(found), 0 if wrong is None else 1, found)
                    self.assertIn(wrong or "", "".join(found))
            table.write_text("# T\n2.2 | clients | This.\n    by section\n")
            self.assertIn("no test names", musts.problems([musts.Table(table)], tests)[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
