#!/usr/bin/python3
"""pqcost limits over the installed programs, and the whole of chains and tokens in a record."""
# ctest: timeout=180

import json
import os
import shutil
import subprocess
import unittest

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


def pqcost(*args, timeout=120):
    return subprocess.run([PQCOST, *args], capture_output=True, text=True, timeout=timeout)


def limits(*args):
    done = pqcost("limits", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    return {(x["http_version"], x["what"]): x for x in record["limits"]}, record


class Limits(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"), "no nginx")
    def test_nginx_takes_a_line_of_8192_bytes(self):
        found, _ = limits("nginx")
        for version in ("HTTP/1.1", "HTTP/2"):
            self.assertEqual(found[version, "ML-DSA-87 bearer token"]["outcome"], "200")
        # nginx.org: a line has to fit into one of the buffers of 8k, else 400 (414 for the target)
        self.assertEqual(found["HTTP/1.1", "SLH-DSA-SHA2-128s bearer token"]["outcome"], "400")
        self.assertEqual(found["HTTP/1.1", "SLH-DSA-SHA2-128s token in the query"]["outcome"], "414")
        largest = found["HTTP/1.1", "largest bearer token taken"]["bytes"] + len("Authorization: Bearer ")
        self.assertAlmostEqual(largest, 8192, delta=4)
        self.assertIn("8192", found["HTTP/1.1", "largest bearer token taken"]["documented_limit"])

    @unittest.skipUnless(shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin"), "no haproxy")
    def test_haproxy_takes_a_head_of_15360_bytes(self):
        found, _ = limits("HAProxy", "--no-search")
        self.assertEqual(found["HTTP/1.1", "SLH-DSA-SHA2-128s bearer token"]["outcome"], "200")
        self.assertEqual(found["HTTP/1.1", "ML-DSA-65 bearer token"]["outcome"], "200")
        self.assertNotIn(("HTTP/1.1", "largest bearer token taken"), found)

    def test_nothing_is_left_running(self):
        done = subprocess.Popen([PQCOST, "limits", "nginx", "--format", "json"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done.communicate(timeout=120)
        children = subprocess.run(["ps", "--no-headers", "--ppid", str(done.pid), "-o", "pid"],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(children.stdout.strip(), "")

    def test_wrong_usage_is_said(self):
        done = pqcost("limits", "ngnix")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ngnix", done.stderr)
        done = pqcost("limits", "--path", "nginx")
        self.assertEqual(done.returncode, 2)
        self.assertIn("NAME=PATH", done.stderr)
        done = pqcost("limits", "Node", "--path", "Node=/nowhere/node", "--format", "json")
        self.assertEqual(done.returncode, 0)
        self.assertIn("/nowhere/node", json.loads(done.stdout)["absent"][0]["reason"])


if __name__ == "__main__":
    unittest.main()
