"""Headless Chromium over its DevTools protocol: what a test needs of it, and no more."""

import base64
import json
import pathlib
import time
import urllib.request

import harness
from websockets.sync.client import connect


class Browser:
    def __init__(self, program, directory, *arguments):
        self.profile = pathlib.Path(directory) / "devtools-profile"
        self.process = harness.Process(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--hide-scrollbars", "--remote-debugging-port=0", f"--user-data-dir={self.profile}",
             *arguments, "about:blank"], pathlib.Path(directory) / "chromium.log")
        port_file = self.profile / "DevToolsActivePort"
        harness.wait_for(lambda: port_file.exists() and port_file.read_text().count("\n"),
                         "the browser's port", 60 * harness.SLOW)
        self.port = int(port_file.read_text().splitlines()[0])

    def page(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/list") as answer:
            targets = json.load(answer)
        return Page(next(t for t in targets if t["type"] == "page")["webSocketDebuggerUrl"])

    def close(self):
        self.process.stop()


class Page:
    """One tab. Console messages, exceptions and requests gather in `events`."""

    def __init__(self, address):
        self.socket = connect(address, max_size=None)
        self.number = 0
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=150 * harness.SLOW))
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 60 * harness.SLOW
        while not self.evaluate("document.readyState === 'complete'"):
            assert time.monotonic() < end, f"{url} did not load"
            time.sleep(0.02)
        self.settle()

    def settle(self):
        """Until two frames were drawn and the browser was idle once."""
        self.evaluate("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => "
                      "requestIdleCallback(() => setTimeout(d, 200)))))")

    def evaluate(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                         returnByValue=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def size(self, width, height, **more):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False, **more)

    def media(self, scheme=None, kind=""):
        features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def pdf(self, path):
        done = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        pathlib.Path(path).write_bytes(base64.b64decode(done["data"]))

    def screenshot(self, path, whole=False):
        done = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(done["data"]))

    def problems(self):
        """Errors and warnings of the console, exceptions, and what the policy refused."""
        found = []
        for event in self.events:
            method, details = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(details["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
                found.append(str(details["args"]))
            elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
                found.append(details["entry"]["text"])
        return found

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]
