"""10,000 routes, 500 with a pattern, and 1,000 servers: they load, each is found, and reloads under
load lose nothing."""

# ctest: timeout=180

import json
import pathlib
import sys

import harness
from load import Load

sys.path.insert(0, str(pathlib.Path(harness.SOURCE) / "bench"))
import large_configuration  # noqa: E402


class LargeConfiguration(harness.TestCase):
    def test_loads_serves_and_reloads(self):
        origin = self.echo()
        toml = large_configuration.configuration(10_000, 1_000, origin.address)
        self.assertEqual(toml.count("[[route]]"), 10_000)
        self.assertEqual(toml.count("path_regex"), 500)
        answers = ""
        for i, (key, value, _) in enumerate(self.probes()):
            answers += (f'[[route]]\nname = "probe-{i}"\nhosts = ["site-7.test"]\npriority = 1\n'
                        f'{key} = {json.dumps(value)}\nstatus = {410 + i}\n')
        edge = self.edge(toml + answers, names=("localhost", "site-7.test"))
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", http=http)[0], 200)
            for i, (_, _, path) in enumerate(self.probes()):
                self.assertEqual(edge.get(path, http=http, host="site-7.test")[0], 410 + i)
        loads = [Load(self, edge, p, "-c", "2", "-r", "50") for p in ("h1", "h2", "h3")]
        seen = edge.metric("pqedge_requests_total")
        harness.wait_for(lambda: edge.metric("pqedge_requests_total") > seen + 50, "load")
        for i in range(2):
            edge.write_config(toml + answers + harness.route(name=f"r{i}", path=f"/only/{i}"))
            code, text = edge.reload()
            self.assertEqual(code, 200, text)
            self.assertIn(f"{10_000 + len(self.probes()) + 1} routes, 101 pools", text)
        for load in loads:
            record = load.stop()
            self.assertGreater(record["requests"], 0)
            self.assertEqual(record["failures"], {}, load.out.name)

    @staticmethod
    def probes():
        return (("path", "/exact", "/exact"), ("path_prefix", "/below", "/below/it"),
                ("path_regex", "/p-[0-9]+", "/p-77"))


if __name__ == "__main__":
    harness.main()
