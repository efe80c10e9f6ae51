"""The configuration's file is watched; what a reload cannot change is named until it holds (O2)."""

import os
import signal

import harness
import successor

WATCH = "watch_config = true\n"


def answer(name, status):
    return f'[[route]]\nname = "{name}"\npath = "/{name}"\nstatus = {status}\nbody = "{name}"\n'


class ConfigWatch(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.good = harness.pool(self.origin.address) + harness.route()

    def wait_answer(self, edge, name, status):
        for http in harness.ALL_VERSIONS:
            harness.wait_for(lambda h=http: edge.get("/" + name, http=h)[0] == status,
                             f"the route {name}")

    def test_a_change_is_taken(self):
        edge = self.edge(self.good, server_toml=WATCH)
        edge.write_config(self.good + answer("renamed", 418))  # a new file by its name
        self.wait_answer(edge, "renamed", 418)
        with open(edge.config_path, "a", encoding="utf-8") as f:  # the same file, written to
            f.write(answer("appended", 410))
        self.wait_answer(edge, "appended", 410)

    def test_a_bad_file_changes_nothing_and_is_told_once(self):
        edge = self.edge(self.good, server_toml=WATCH)
        edge.write_config(self.good + "[limits]\nmax_feilds = 3\n")
        harness.wait_for(lambda: "reload refused" in edge.log(), "the log line")
        self.assertIn("max_feilds", edge.log())
        (self.directory / "beside").write_text("another file of the directory changes")
        edge.write_config(self.good + answer("better", 418))
        self.wait_answer(edge, "better", 418)
        self.assertEqual(edge.log().count("reload refused"), 1)
        self.assertEqual(edge.get("/")[0], 200)

    def test_a_link_that_leads_elsewhere(self):
        # As Kubernetes mounts a ConfigMap: edge.toml -> ..data/edge.toml, ..data -> a directory.
        edge = self.edge(self.good, server_toml=WATCH)
        for i in (1, 2):
            (self.directory / f"version{i}").mkdir()
            head = edge._head
            (self.directory / f"version{i}" / "edge.toml").write_text(
                head + self.good + answer("mounted", 417 + i))
        data = self.directory / "..data"
        data.symlink_to("version1")
        link = self.directory / "link"
        link.symlink_to("..data/edge.toml")
        os.rename(link, edge.config_path)
        self.wait_answer(edge, "mounted", 418)
        fresh = self.directory / "..fresh"
        fresh.symlink_to("version2")
        os.rename(fresh, data)
        self.wait_answer(edge, "mounted", 419)

    def test_it_is_off_until_it_is_asked_for(self):
        edge = self.edge(self.good)
        edge.write_config(self.good + answer("later", 418))
        edge._head = edge._head.replace("[server]\n", "[server]\n" + WATCH)
        edge.write_config(self.good + answer("later", 418))
        self.assertEqual(edge.get("/later")[0], 200)
        edge.send_signal(signal.SIGHUP)
        self.wait_answer(edge, "later", 418)
        edge.write_config(self.good + answer("later", 410))
        self.wait_answer(edge, "later", 410)


class Restart(harness.TestCase):
    def test_what_needs_one_is_named_until_it_holds(self):
        origin = self.echo()
        good = harness.pool(origin.address) + harness.route()
        edge = self.edge(good, server_toml='drain_linger = "100ms"\n')
        more = '[signing]\nthreads = 3\n[quic]\nreceive_buffer = "1MiB"\n'
        edge._head = edge._head.replace("workers = 1", "workers = 2").replace(
            '[logging]\n', '[logging]\nqueue = 4096\n')
        edge.write_config(good + more)
        for _ in range(2):  # with each reload
            code, text = edge.reload()
            self.assertEqual(code, 200, text)
            for key in ("server.workers", "logging.queue", "signing.threads",
                        "quic.receive_buffer"):
                self.assertIn(key, text)
        self.assertEqual(len(successor.status(edge)["pending_restart"]), 4)
        self.assertEqual(edge.get("/", http="3")[0], 200)
        old = successor.upgrade(edge)  # takes all but the number of workers
        self.assertEqual(old.wait(harness.WAIT), 0)
        code, text = edge.reload()
        self.assertEqual(code, 200, text)
        self.assertNotIn("logging.queue", text)
        self.assertIn("server.workers", text)
        edge._head = edge._head.replace("workers = 2", "workers = 1")
        edge.write_config(good + more)
        code, text = edge.reload()
        self.assertEqual(code, 200, text)
        self.assertNotIn("restart", text)
        self.assertEqual(successor.status(edge)["pending_restart"], [])


if __name__ == "__main__":
    harness.main()
