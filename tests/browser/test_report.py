"""pqcost report in a real browser (M16): nothing is loaded, nothing breaks, the figures add up."""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402

import devtools  # noqa: E402
import report_records  # noqa: E402

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


class Report(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.chromium = shutil.which("chromium")
        if not self.chromium:
            if os.environ.get("CI"):
                self.fail("chromium is not installed")
            self.skipTest("chromium is not installed")
        folder = pathlib.Path(self.directory) / "records"
        folder.mkdir()
        report_records.write_all(folder)
        self.output = pathlib.Path(self.directory) / "report.html"
        done = harness.run(PQCOST, "report", folder, "-o", self.output)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.browser = devtools.Browser(self.chromium, self.directory)
        self.addCleanup(self.browser.close)
        self.page = self.browser.page()
        self.page.size(1280, 900)
        self.page.open(self.output.as_uri())

    def test_page(self):
        """One browser for all: starting it is what takes time."""
        for check in (self.loads_nothing, self.shows_hostile_text_as_text, self.tabs_by_mouse_and_key,
                      self.bars_add_up, self.tables_sort, self.rows_have_a_state,
                      self.links_lead_to_runs, self.charts_have_words, self.fits_a_phone,
                      self.prints_everything):
            with self.subTest(check.__name__):
                check()
        self.assertEqual(self.page.problems(), [])

    def loads_nothing(self):
        self.assertEqual(self.page.problems(), [])
        others = [u for u in self.page.requests() if not u.startswith(("file:", "data:"))]
        self.assertEqual(others, [])
        files = [u for u in self.page.requests() if u.startswith("file:")]
        self.assertEqual(files, [self.output.as_uri()])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('style').length"), 1)

    def shows_hostile_text_as_text(self):
        self.assertEqual(self.page.evaluate("document.title"), "What post-quantum cryptography costs")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('img').length"), 0)
        self.assertIn(report_records.HOSTILE, self.page.evaluate("document.body.textContent"))
        name = self.page.evaluate("pqcost.data.hosts[0].name")
        self.assertEqual(name, "edge-1 " + report_records.HOSTILE)

    def shown(self):
        return self.page.evaluate(
            "[...document.querySelectorAll('[role=tabpanel]')].filter(p => p.offsetParent !== null)"
            ".map(p => p.id)")

    def tabs_by_mouse_and_key(self):
        self.assertEqual(self.shown(), ["h1", "h1-tls"])
        self.page.evaluate("document.getElementById('h1-tls-tab').focus()")
        self.page.press("ArrowRight")
        self.assertEqual(self.shown(), ["h1", "h1-ssh"])
        self.page.press("End")
        self.assertEqual(self.shown(), ["h1", "h1-runs"])
        self.page.press("ArrowRight")
        self.assertEqual(self.shown(), ["h1", "h1-tls"])
        selected = "document.querySelector('#h1 [aria-selected=true]').id"
        self.assertEqual(self.page.evaluate(selected), "h1-tls-tab")
        self.page.evaluate("document.getElementById('h2-tab').click()")
        self.assertEqual(self.shown(), ["h2", "h2-tls"])
        self.page.evaluate("document.getElementById('h1-tab').click()")

    def bars_add_up(self):
        """The parts of each bar, in pixels and in their own figures, against the composed mean."""
        bars = self.page.evaluate("""[...document.querySelectorAll(
            '#h1-tls figure[data-chart=phases] [aria-label=bar] rect')].map(r => [
            r.getAttribute('aria-label'), +r.getAttribute('x'), +r.getAttribute('width'),
            +r.getAttribute('y')])""")
        self.assertGreater(len(bars), 20)
        sums = {}
        for label, _, width, y in bars:
            entry = sums.setdefault(y, [0.0, 0.0])
            entry[0] += float(label.rsplit(": ", 1)[1])
            entry[1] += width + 0.5  # the gap between parts
        means = self.page.evaluate("pqcost.data.hosts[0].tracks.tls.suites.map(s => s.composed.mean)")
        self.assertEqual(len(sums), len(means))
        pixels = set()
        for (us, width), mean in zip([sums[y] for y in sorted(sums)], means):
            self.assertAlmostEqual(us / mean, 1, delta=2e-5)
            pixels.add(width / mean)
        self.assertLess(max(pixels) / min(pixels), 1.005, "one scale for all bars")

    def column(self, table, column):
        return self.page.evaluate(
            f"[...document.getElementById('{table}').tBodies].map(b => b.rows[0].cells[{column}])"
            ".map(c => c && c.dataset.v !== undefined ? +c.dataset.v : null)")

    def tables_sort(self):
        table = "h1-ssh-suites"
        button = f"document.querySelectorAll('#{table} thead th')[2].querySelector('button')"
        state = f"document.querySelectorAll('#{table} thead th')[2].getAttribute('aria-sort')"
        self.page.evaluate("document.getElementById('h1-ssh-tab').click()")
        self.page.evaluate(f"{button}.focus()")
        self.page.press("Enter")
        values = self.column(table, 2)
        self.assertIsNone(values[-1], "what is absent comes last")
        self.assertEqual(values[:-1], sorted(values[:-1]))
        self.assertEqual(self.page.evaluate(state), "ascending")
        self.page.evaluate(f"{button}.click()")
        values = self.column(table, 2)
        self.assertIsNone(values[-1])
        self.assertEqual(values[:-1], sorted(values[:-1], reverse=True))
        self.assertEqual(self.page.evaluate(state), "descending")
        self.page.evaluate("document.getElementById('h1-tls-tab').click()")

    def rows_have_a_state(self):
        source = self.page.evaluate("document.querySelector('#h1-tls .source').textContent")
        self.assertIn("withheld: steal of 6.1 %", source)
        states = self.page.evaluate(
            "[...document.querySelectorAll('#h2-signatures-suites tbody')].map(b => b.className)")
        self.assertEqual(states.count("withheld"), 1)
        self.assertEqual(states.count("absent"), 1)
        text = self.page.evaluate("document.querySelector('#h2-signatures-suites').textContent")
        self.assertIn("spread of 31 % in the reference loop", text)
        self.assertIn("no library here offers it", text)
        change = self.page.evaluate("document.querySelector('#h1-tls-suites').textContent")
        self.assertIn("median of 8 runs", change)
        change = self.page.evaluate("document.querySelector('#h2-tls-suites').textContent")
        self.assertIn("one run, 2026-11-15", change)

    def links_lead_to_runs(self):
        self.page.evaluate("document.querySelector('.findings a').click()")
        self.assertEqual(self.shown(), ["h1", "h1-runs"])
        self.assertTrue(self.page.evaluate("document.getElementById('run-2').open"))
        missing = self.page.evaluate(
            "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href'))"
            ".filter(h => !document.getElementById(h.slice(1)))")
        self.assertEqual(missing, [])

    def charts_have_words(self):
        for tab in self.page.evaluate("[...document.querySelectorAll('[role=tab]')].map(t => t.id)"):
            self.page.evaluate(f"document.getElementById('{tab}').click()")
            self.page.settle()
        drawings = self.page.evaluate(
            "[...document.querySelectorAll('svg.drawing')].map(s => [s.getAttribute('role'), "
            "s.getAttribute('aria-label') || ''])")
        self.assertGreater(len(drawings), 20)
        for role, label in drawings:
            self.assertEqual(role, "img")
            self.assertGreater(len(label), 30)
        empty = self.page.evaluate(
            "[...document.querySelectorAll('figure.chart:not([hidden])')]"
            ".filter(f => !f.querySelector('svg.drawing')).map(f => f.dataset.chart)")
        self.assertEqual(empty, [])
        kinds = self.page.evaluate("[...new Set([...document.querySelectorAll("
                                   "'figure.chart:not([hidden])')].map(f => f.dataset.chart))]")
        self.assertEqual(set(kinds), {
            "phases", "change", "distribution", "wire", "tails", "threads", "operations", "sizes",
            "chains", "flights-tcp", "flights-quic", "tokens", "requests", "live", "scenarios",
            "history"})

    def fits_a_phone(self):
        self.page.size(360, 740)
        for tab in self.page.evaluate("[...document.querySelectorAll('[role=tab]')].map(t => t.id)"):
            self.page.evaluate(f"document.getElementById('{tab}').click()")
            self.page.settle()
            width = self.page.evaluate("document.documentElement.scrollWidth")
            self.assertLessEqual(width, 360, tab)
        self.page.size(1280, 900)

    def prints_everything(self):
        self.page.media(kind="print")
        hidden = self.page.evaluate(
            "[...document.querySelectorAll('[role=tabpanel], tr.detail')]"
            ".filter(p => getComputedStyle(p).display === 'none').map(p => p.id)")
        self.assertEqual(hidden, [])
        self.assertEqual(self.page.evaluate(
            "getComputedStyle(document.querySelector('.tabs')).display"), "none")
        self.page.media()
        printed = pathlib.Path(self.directory) / "report.pdf"
        self.page.pdf(printed)
        self.assertGreater(printed.stat().st_size, 100_000)


class WithoutScript(harness.TestCase):
    def test_tables_are_there(self):
        folder = pathlib.Path(self.directory) / "records"
        folder.mkdir()
        report_records.write_all(folder)
        done = harness.run(PQCOST, "report", folder, "-o", "-")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        html = done.stdout.decode()
        body = html[html.index("<body>"):html.index('<script type="application/json"')]
        self.assertNotIn("<script", body)
        self.assertNotRegex(body, r"<(section|tr|tbody|table|div)[^>]* hidden")
        for figure in ("SecP384r1MLKEM1024", "3,330", "withheld", "11,137"):
            self.assertIn(figure, body)
        self.assertNotIn("http://", html.split("<script>")[0].replace("http://www.w3.org", ""))

    def test_bad_input(self):
        folder = pathlib.Path(self.directory)
        output = folder / "report.html"
        done = harness.run(PQCOST, "report", folder / "none", "-o", output)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"none", done.stderr)
        (folder / "broken.json").write_text('{"schema": "pqcost-record/1"', encoding="utf-8")
        done = harness.run(PQCOST, "report", folder, "-o", output)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"broken.json", done.stderr)
        self.assertFalse(output.exists())
        report_records.write_all(folder)
        done = harness.run(PQCOST, "report", folder, "-o", output)
        self.assertEqual(done.returncode, 1, "a file that is no record is named, the rest reported")
        self.assertIn(b"broken.json", done.stderr)
        self.assertTrue(output.exists())
        done = harness.run(PQCOST, "report", folder / "lab-2.json", "-o", folder / "no" / "x.html")
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    harness.main()
