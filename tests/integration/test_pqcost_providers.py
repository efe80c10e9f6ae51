"""pqcost providers: the libraries, the code that runs, the known answers (M11)."""

import json
import os
import subprocess

import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


def providers(*arguments):
    return harness.run(PQCOST, "providers", *arguments)


class Providers(harness.TestCase):
    def test_each_answers_and_says_what_ran(self):
        done = providers("--format", "json", "--algorithm", "ML-KEM-768", "--algorithm", "X25519",
                         "--algorithm", "X25519MLKEM768", "--algorithm", "ML-DSA-65",
                         "--algorithm", "Falcon-512 (round 3)", "--algorithm", "sntrup761")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        found = json.loads(done.stdout)
        offered = {p["name"]: {a["name"] for a in p["algorithms"]} for p in found["providers"]}
        self.assertLessEqual({"ML-KEM-768", "X25519", "X25519MLKEM768", "ML-DSA-65"},
                             offered["OpenSSL"])
        for name in ("Botan", "libgcrypt", "PQClean"):
            self.assertIn("ML-KEM-768", offered[name])
        self.assertIn("Falcon-512 (round 3)", offered["PQClean"])
        self.assertLessEqual({"sntrup761"}, offered["libgcrypt"] & offered["libntruprime"])
        for answer in found["known_answers"]:
            self.assertTrue(answer["passed"], answer)
        sources = " ".join(a["source"] for a in found["known_answers"])
        for source in ("ACVP", "RFC 7748", "Wycheproof", "RFC 10024", "META.yml"):
            self.assertIn(source, sources)
        for provider in found["providers"]:
            for algorithm in provider["algorithms"]:
                self.assertTrue(algorithm["code"] and algorithm["evidence"], algorithm)

    def test_version_is_that_of_the_library(self):
        found = json.loads(providers("--format", "json", "--algorithm", "X25519").stdout)
        version = next(p["version"] for p in found["providers"] if p["name"] == "OpenSSL")
        told = subprocess.run(["/usr/bin/openssl", "version"], capture_output=True, text=True,
                              check=True).stdout
        self.assertIn(f"OpenSSL {version} ", told)

    def test_no_library_finds_anothers_functions(self):
        """What is compiled in (PQClean has a shake256, as others do) is not seen by the libraries."""
        def defined(path):
            told = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True,
                                  text=True, check=True).stdout
            names = (line.split()[-1].partition("@")[0] for line in told.splitlines())
            # C++ programs export what the standard library's templates made in them.
            return {name for name in names if not name.startswith(("_Z", "_"))}

        loaded = subprocess.run(["ldd", PQCOST], capture_output=True, text=True, check=True).stdout
        ours = defined(PQCOST)
        self.assertFalse({name for name in ours if "shake" in name or "PQCLEAN" in name})
        libraries = [line.split()[2] for line in loaded.splitlines()
                     if any(f"lib{name}" in line for name in
                            ("crypto", "botan", "wolfssl", "gcrypt", "ntruprime"))]
        self.assertGreaterEqual(len(libraries), 5, loaded)
        # Our own answer to libssl's question whether it knows brotli (crypto/brotli_offer.cc).
        meant = {"BIO_f_brotli"}
        for library in libraries:
            self.assertFalse(ours & defined(library) - meant, library)

    def test_unknown_algorithm(self):
        done = providers("--algorithm", "ML-KEM-769")
        self.assertEqual(done.returncode, 2)
        self.assertIn("ML-KEM-769", done.stderr.decode())

    def test_library_that_is_not_there(self):
        done = providers("--algorithm", "X25519", "--liboqs", "/nonexistent/liboqs.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/liboqs.so", done.stderr.decode())


if __name__ == "__main__":
    harness.main()
