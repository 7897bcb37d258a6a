"""Opens pages in Chromium, at three widths and in two themes and for print, and says what is wrong.

    browser.py CHROMIUM PAGE...

An element beyond the right edge, a message of the console, an error and a request are wrong. It
speaks the DevTools protocol over a pipe: JSON, with a NUL after each message.
"""
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Of a window, and of a sheet of A4 within its margins.
WIDTHS = {"screen": (1280, 768, 360), "print": (688,)}
MESSAGES = "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"

# What is beyond an edge of the window.
MEASURE = """(() => {
    const wide = [], width = document.documentElement.clientWidth;
    for (const e of document.querySelectorAll('main *')) {
        const box = e.getBoundingClientRect();
        if (box.width && (box.right > width + 1 || box.left < -1))
            wide.push(e.tagName + ' ' + (e.textContent || '').trim().slice(0, 40));
    }
    if (document.documentElement.scrollWidth > width)
        wide.push('page of ' + document.documentElement.scrollWidth + ' pixels');
    return {wide: wide.slice(0, 3), words: document.body.innerText.length};
})()"""
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"


class Browser:
    def __init__(self, program):
        self.home = tempfile.mkdtemp()
        theirs, self.to = os.pipe()
        self.back, mine = os.pipe()

        def wire():  # the browser reads 3 and writes 4, which may be among the four pipe ends
            high = fcntl.fcntl(theirs, fcntl.F_DUPFD, 20), fcntl.fcntl(mine, fcntl.F_DUPFD, 20)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--user-data-dir=" + self.home,
             "--remote-debugging-pipe", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=wire, close_fds=False)
        os.close(theirs)
        os.close(mine)
        self.kept, self.number, self.session, self.events = b"", 0, {}, []
        pages = []
        while not pages:
            targets = self.call("Target.getTargets")["targetInfos"]
            pages = [t for t in targets if t["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")

    def read(self):
        while b"\0" not in self.kept:
            more = os.read(self.back, 1 << 20)
            if not more:
                sys.exit("browser.py: the browser ended")
            self.kept += more
        message, self.kept = self.kept.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **self.session}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit("browser.py: %s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def run(self, script):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get(
            "value")

    def show(self, page, width, theme, media):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": theme}])
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(page))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.read())

    def close(self):
        self.call("Browser.close")
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def faults(browser, page, width, theme, media):
    browser.show(page, width, theme, media)
    wrong = []
    for state in "folded", "unfolded":
        found = browser.run(MEASURE)
        wrong += ["%s: beyond the edge: %s" % (state, e) for e in found["wide"]]
        if found["words"] < 100:
            wrong.append("an empty page")
        browser.run(UNFOLD)
    wrong += [str(e["params"])[:200] for e in browser.events if e.get("method") in MESSAGES]
    asked = [e["params"]["request"]["url"] for e in browser.events
             if e.get("method") == "Network.requestWillBeSent"]
    return wrong + ["a request: " + url[:100] for url in asked[1:]]


def main():
    browser = Browser(sys.argv[1])
    failed = 0
    for page in sys.argv[2:]:
        for media in WIDTHS:
            for width in WIDTHS[media]:
                for theme in "light", "dark":
                    for fault in faults(browser, page, width, theme, media):
                        print("%s, %d pixels, %s, %s: %s" % (page, width, theme, media, fault))
                        failed += 1
    browser.close()
    print("%d pages, at 1280, 768 and 360 pixels and on A4, light and dark: %d faults"
          % (len(sys.argv) - 2, failed))
    sys.exit(failed > 0)


main()
