#!/usr/bin/env python3
"""Compiles the offloading tests of GCC's libgomp testsuite into a folder, a *bundle*, that run.py runs.

    build.py --source GCC-SOURCE --out BUNDLE --gcc 16 -- [LAUNCHER] {compiler}

The words behind `--` start a compiler: `{compiler}` stands for its name, `{folder}` for the folder that it is to work in, as seen
inside `--root`. `--source` holds at least libgomp, include and gcc/testsuite of GCC's source. Each test is built once, with the
flags that its directives ask for (GCC's own harness repeats Fortran and OpenACC tests at several optimization levels), and not
again as long as its plan is the same. The bundle's manifest lists exactly the tests that were selected.

Needs Python 3.8 or newer and nothing else. `cargo xtask conformance` calls it.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from directives import default_flags, select_tests
from suites import DATA_DIR, DATA_FILES, MANIFEST, PROBES, SUITES, fill, write_json

COMPILE_TIMEOUT = 600
ERRORS_KEPT = 2000
# A line of progress after so many tests.
PROGRESS_INTERVAL = 25


class Toolchain:
    """The compilers, optionally those inside a root."""

    def __init__(self, version, launcher, root):
        self.major = int(version)
        self.compilers = {"c": "gcc-" + version, "c++": "g++-" + version, "fortran": "gfortran-" + version}
        self.launcher = launcher
        self.root = root.resolve() if root else None
        self.scratch = self.root / "tmp" if self.root else Path(tempfile.gettempdir())

    def inside(self, path):
        """Return the name that the compilers know a path of this machine by."""
        path = path.resolve()
        return "/" + str(path.relative_to(self.root)) if self.root else str(path)

    def run(self, compiler, arguments, folder):
        """Run a compiler, or strip, in a folder; returns (succeeded, its output)."""
        command = fill(self.launcher, folder=self.inside(folder), compiler=compiler) + arguments
        try:
            done = subprocess.run(
                command, cwd=folder, env=dict(os.environ, LC_ALL="C"), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMPILE_TIMEOUT,
                encoding="utf-8", errors="replace", check=False)
        except subprocess.TimeoutExpired:
            return False, "compiler timed out"
        return done.returncode == 0, done.stdout

    def build(self, language, arguments, sources, binary):
        """Compile and strip one program; returns the compiler's errors or None."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            scratch = Path(name)
            files = [self.inside(source) for source in sources]
            built, output = self.run(self.compilers[language], files + arguments + ["-o", "test.exe", "-lm"], scratch)
            if built:
                built, output = self.run("strip", ["--strip-all", "test.exe"], scratch)
            if not built:
                return output
            binary.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(str(scratch / "test.exe"), str(binary))
        return None

    def version(self):
        """Return the first line of the C compiler's --version."""
        return self.run(self.compilers["c"], ["--version"], self.scratch)[1].splitlines()[0]


class Builder:
    """Fills a bundle."""

    def __init__(self, toolchain, source, out):
        # GCC's own header of the CUDA driver.
        self.cuda = source / "include" / "cuda"
        self.toolchain = toolchain
        self.libgomp = source / "libgomp"
        self.testsuite = self.libgomp / "testsuite"
        self.headers = [source / "include", self.libgomp]
        self.out = out

    def compile(self, language, model, flags, sources, binary):
        """Compile a program the way GCC's harness does; returns errors or None."""
        headers = list(self.headers)
        if model == "openacc":
            headers += [self.testsuite / "libgomp.oacc-c-c++-common", self.cuda]
        # Some distributions' --as-needed drops libgomp where only the device code needs it.
        arguments = ["-fmessage-length=0", "-fdiagnostics-plain-output", "-Wl,--no-as-needed", "-f" + model]
        arguments += ["-I" + self.toolchain.inside(path) for path in headers]
        arguments.append("-L" + self.toolchain.inside(self.out / "libcuda"))
        if language == "fortran" and self.toolchain.major < 14:
            # These do not link the device's library by themselves; GCC's harness does it so.
            arguments.append("-foffload=-lgfortran")
        return self.toolchain.build(language, arguments + flags, sources, self.out / binary)

    def build_test(self, name, suite, plan):
        """Compile one test, unless that is done already, and return its manifest entry."""
        entry = {
            "name": name, "suite": suite, "model": plan.model, "env": plan.env, "needs": sorted(plan.needs),
            "shouldfail": plan.shouldfail, "xfail": plan.xfail, "output": plan.output, "output_text": plan.output_text,
            "timeout": plan.timeout, "timeout_factor": plan.timeout_factor, "flags": plan.flags,
            "skipped": plan.skipped, "notes": plan.notes,
        }
        if plan.skipped:
            return dict(entry, binary=None)
        binary = "bin/{}.exe".format(name)
        done = self.out / "bin" / (name + ".json")
        if done.exists():
            old = json.loads(done.read_text())
            if entry.items() <= old.items() and (old["binary"] or old["compile_failure"]):
                return old
        error = self.compile(plan.language, plan.model, plan.flags, plan.sources, binary)
        entry["binary"] = binary if error is None else None
        if error is not None:
            entry["compile_error"] = error.replace(self.toolchain.inside(self.testsuite) + "/", "")[-ERRORS_KEPT:]
            entry["compile_failure"] = plan.compile_failure
        write_json(done, entry)
        return entry

    def build_libcuda(self):
        """Make a libcuda.so to link with, for tests that call the driver. They get a real one when they run."""
        stub = self.out / "libcuda" / "libcuda.so"
        if stub.exists():
            return
        names = sorted(set(re.findall(r"\bcu[A-Z]\w*", (self.cuda / "cuda.h").read_text())))
        stub.parent.mkdir(parents=True, exist_ok=True)
        source = stub.with_name("stub.c")
        source.write_text("".join("void {} (void) {{}}\n".format(name) for name in names))
        built, output = self.toolchain.run(
            self.toolchain.compilers["c"],
            ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", source.name, "-o", stub.name], stub.parent)
        if not built:
            raise SystemExit("cannot make a library to link with:\n" + output)

    def build_probes(self):
        """Compile the probes and return their binaries by name."""
        binaries = {name: "bin/probes/{}.exe".format(name) for name in PROBES}
        for name, (model, text) in PROBES.items():
            if (self.out / binaries[name]).exists():
                continue
            with tempfile.TemporaryDirectory(dir=self.toolchain.scratch) as folder:
                source = Path(folder) / "probe.c"
                source.write_text(text)
                error = self.compile("c", model, default_flags(model), [source], binaries[name])
            if error is not None:
                raise SystemExit("cannot compile for offloading:\n" + error)
        return binaries

    def copy_data_files(self):
        """Copy the files that tests read."""
        for suite, names in DATA_FILES.items():
            (self.out / DATA_DIR / suite).mkdir(parents=True, exist_ok=True)
            for name in names:
                shutil.copy(str(self.testsuite / suite / name), str(self.out / DATA_DIR / suite))


def parse_arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--root", type=Path, metavar="FOLDER", help="what the compilers see as /, if not /")
    parser.add_argument("--out", type=Path, required=True, metavar="BUNDLE")
    parser.add_argument("--gcc", required=True, metavar="N", help="the compilers' version")
    parser.add_argument("--suite", action="append", choices=list(SUITES), help="default: all")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX",
                        help="only the tests whose suite/name matches")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilers at a time")
    parser.add_argument("launcher", nargs="+", metavar="WORD")
    return parser.parse_args()


def main():
    """Build what was selected."""
    options = parse_arguments()
    toolchain = Toolchain(options.gcc, options.launcher, options.root)
    builder = Builder(toolchain, options.source.resolve(), options.out)
    builder.build_libcuda()
    probes = builder.build_probes()
    builder.copy_data_files()
    tests = select_tests(builder.testsuite, options.suite or list(SUITES), options.only, options.every)
    entries = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for entry in pool.map(lambda test: builder.build_test(*test), tests):
            entries.append(entry)
            if len(entries) % PROGRESS_INTERVAL == 0:
                print("compiled {} of {} tests".format(len(entries), len(tests)), flush=True)
    write_json(options.out / MANIFEST, {"compiler": toolchain.version(), "probes": probes, "tests": entries})
    for note, count in collections.Counter(note for entry in entries for note in entry["notes"]).items():
        print("note: {} ({} tests)".format(note, count))


if __name__ == "__main__":
    main()
