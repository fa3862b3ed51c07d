#!/usr/bin/env python3
"""Runs the programs of a bundle that build.py has made, and judges each by the directives of its test.

    run.py --bundle BUNDLE --out RESULTS.json -- [LAUNCHER] {program}

The words behind `--` start a program, `{program}`, with the libgomp and the plugin to be tested. The results are JSON:
`tests` holds for each test its `name`, `suite`, `status`, `reason`, and, if it ran, `seconds` and the end of its `output`.

    PASS, XPASS   as the test wants it; XPASS where GCC expects that it fails with nvptx
    FAIL          exit status or output are not what the test wants
    CRASH         killed by a signal such as SIGSEGV
    TIMEOUT       took longer than --timeout and than the limit of its own, if it has one
    BUILD         the compiler does not compile it
    XFAIL         fails as GCC expects
    SKIP          needs what the machine does not have, or is not meant for nvptx

Needs Python 3.8 or newer and nothing else. `cargo xtask conformance` calls it, and run.sh of a GPU bundle does.
"""

import argparse
import concurrent.futures
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from suites import DATA_DIR, MANIFEST, PROBES, fill, write_json

CRASH_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
OUTPUT_KEPT = 2000
# What the simulator says of a fault, beside what the program prints.
SIMULATOR_REPORT = re.compile(r"^boomerang-sim: .*\n(?:  .*\n)*", re.MULTILINE)
# The results are saved after so many tests, and a line of progress is printed.
SAVE_INTERVAL = 25


class Outcome(NamedTuple):
    """How a program ended; `status` is None after a timeout."""

    status: int
    output: str
    seconds: float


def run_program(command, env, timeout, files=()):
    """Run a program in a folder of its own with copies of some files.

    After a timeout its process group is killed.
    """
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            shutil.copy(str(path), folder)
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output, status = process.communicate(timeout=timeout)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, status = process.communicate()[0], None
    return Outcome(status, output.decode("utf-8", "replace"), time.monotonic() - start)


def output_matches(test, output):
    """Check the dg-output and dg-output-file expectations of a test."""
    output = SIMULATOR_REPORT.sub("", output)
    if test["output_text"] is not None and output != test["output_text"]:
        return False
    return test["output"] is None or re.search(test["output"], output, re.DOTALL) is not None


def judge(test, outcome):
    """Return (status, reason) of a finished test."""
    if outcome.status is None:
        status, reason = "TIMEOUT", "still running after {:.0f} s".format(outcome.seconds)
    elif -outcome.status in CRASH_SIGNALS:
        status, reason = "CRASH", "killed by signal {}".format(-outcome.status)
    elif (outcome.status != 0) != test["shouldfail"]:
        status, reason = "FAIL", "exit status {}".format(outcome.status)
    elif not output_matches(test, outcome.output):
        status, reason = "FAIL", "unexpected output"
    else:
        status, reason = "PASS", ""
    if test["xfail"]:
        status = "XPASS" if status == "PASS" else "XFAIL"
    return status, reason


class Runner:
    """Runs the programs of a bundle by a launcher."""

    def __init__(self, bundle, launcher, timeout):
        self.bundle = bundle.resolve()
        self.launcher = launcher
        self.timeout = timeout
        self.manifest = json.loads((self.bundle / MANIFEST).read_text())
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("OMP_", "GOMP_", "ACC_", "GOACC_"))}
        probed = {name: self.probe(name) for name in self.manifest["probes"]}
        self.probes = {name: outcome.status == 0 for name, outcome in probed.items()}
        for name in ("device", "openacc"):
            if not self.probes[name]:
                # Without a device OpenMP tests run on the host, and most would pass all the same.
                raise SystemExit("no program finds a device here: {} ends with status {}\n{}".format(
                    self.manifest["probes"][name], probed[name].status, probed[name].output))

    def start(self, binary, model, env, timeout, files=()):
        """Run a program of the bundle."""
        device_type = {"ACC_DEVICE_TYPE": "nvidia"} if model == "openacc" else {}
        return run_program(fill(self.launcher, program=self.bundle / binary),
                           {**self.env, **device_type, **env}, timeout, files)

    def probe(self, name):
        """Run the program that tells whether this machine has what some tests need."""
        return self.start(self.manifest["probes"][name], PROBES[name][0], {}, self.timeout)

    def not_run(self, test):
        """Return (status, reason) of a test that cannot be run here, or None."""
        if not test["binary"]:
            expected = test["skipped"] or test["compile_failure"]
            return ("SKIP", expected) if expected else ("BUILD", "does not compile")
        absent = [need for need in test["needs"] if not self.probes[need]]
        return ("SKIP", "no {} here".format(", ".join(absent))) if absent else None

    def run(self, test):
        """Run one test and return its result."""
        result = {"name": test["name"], "suite": test["suite"]}
        not_run = self.not_run(test)
        if not_run:
            return dict(result, status=not_run[0], reason=not_run[1])
        timeout = max(test["timeout"] or 0, self.timeout) * test["timeout_factor"]
        outcome = self.start(test["binary"], test["model"], test["env"], timeout,
                             (self.bundle / DATA_DIR / test["suite"]).glob("*"))
        status, reason = judge(test, outcome)
        return dict(result, status=status, reason=reason, seconds=round(outcome.seconds, 2),
                    output=outcome.output[-OUTPUT_KEPT:])


def parse_arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, metavar="JSON")
    parser.add_argument("--timeout", type=float, default=30, metavar="SECONDS", help="at least that long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="programs at a time")
    parser.add_argument("launcher", nargs="+", metavar="WORD")
    return parser.parse_args()


def main():
    """Run all tests of the bundle."""
    options = parse_arguments()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Tcl and Python agree on the meaning of the "[[" that Python warns about.
    warnings.simplefilter("ignore", FutureWarning)
    runner = Runner(options.bundle, options.launcher, options.timeout)
    tests = runner.manifest["tests"]
    results = []
    lock = threading.Lock()

    def save():
        write_json(options.out, {"compiler": runner.manifest["compiler"], "probes": runner.probes,
                                 "tests": sorted(results, key=lambda result: result["name"])})

    def run(test):
        result = runner.run(test)
        with lock:
            results.append(result)
            if len(results) % SAVE_INTERVAL == 0:
                print("ran {} of {} tests".format(len(results), len(tests)), flush=True)
                save()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(run, test) for test in tests]:
            future.result()
    save()


if __name__ == "__main__":
    main()
