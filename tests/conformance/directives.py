"""Reads the DejaGnu directives of a test as GCC's harness would, with nvptx offloading and a device present."""

import fnmatch
import os
import re
from pathlib import Path

from suites import PROBE_FOR_TARGET, SOURCE_NAMES, SUITES

OFFLOAD_FLAG = "-foffload=nvptx-none"

# An OpenMP test whose source has none of these has nothing to do with devices.
OFFLOADING = re.compile(
    r"\bomp\b[^\n]*\btarget\b|\bomp_target_|\bdevice\s*\(|\bancestor\b"
    r"|\binterop\b|\bomp_interop_|\bomp_get_num_devices\b|\bomp_is_initial_device\b"
    r"|\bomp_[gs]et_default_device\b|\bomp_get_(initial_device|device_num)\b"
    r"|\bomp_get_mapped_ptr\b|\bomp_get_(uid_from_device|device_from_uid)\b"
    r"|\bOMP_TARGET_OFFLOAD\b|\bomp_atk_pinned\b|\bompx_gnu_\w+_mem_(alloc|space)\b",
    re.IGNORECASE,
)
INCLUDE = re.compile(r"""^\s*(?:\#\s*)?include\s*["']([^"'<>]+)["']""",
                     re.IGNORECASE | re.MULTILINE)

# Effective targets as they are for nvptx offloading on x86_64 GNU/Linux.
TRUE_TARGETS = frozenset("""
    offload_target_any offload_target_nvptx offloading_enabled
    offload_device offload_device_nvptx offload_device_nonshared_as
    openacc_nvidia_accel_present openacc_nvidia_accel_selected
    openacc_cuda openacc_libcuda
    omp_usm omp_managedmem
    __OPTIMIZE__ __float128 avx_runtime sse2_runtime vect_simd_clones bitint
    exceptions fd_truncate fopenmp fpic init_priority large_long_double lp64
    lto native nonstandard_math_functions shared size32plus sync_int_long
    tls tls_runtime weak_undefined
""".split())
FALSE_TARGETS = frozenset("""
    offload_target_amdgcn offload_target_amdgcn_with_xnack
    offload_device_gcn offload_device_shared_as
    openacc_host_selected
    openacc_radeon_accel_present openacc_radeon_accel_selected
    openacc_cublas openacc_cudart openacc_libcublas openacc_libcudart
    gomp_hip_header_amd gomp_hip_header_nvidia gomp_hipfort_module
    gomp_libamdhip64 gomp_libhipblas
    aarch64_tiny ia32 run_expensive_tests
""".split())
TRIPLET = "x86_64-pc-linux-gnu"

DIRECTIVE = re.compile(r"\{[ \t]+dg-([-a-z]+)[ \t]+(.*)[ \t]+\}[^}]*$")
QUOTED_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
BARE_WORD = re.compile(r"(?:[^\s\\]|\\.)+")
TCL_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def tcl_unescape(text):
    """Resolve Tcl backslash sequences."""
    return re.sub(r"\\(.)", lambda m: TCL_ESCAPES.get(m[1], m[1]), text)


def closing_brace(text, start):
    """Return the position of the brace that closes the one at `start`."""
    depth = 0
    for match in re.compile(r"\\.|[{}]").finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    raise ValueError("unbalanced braces in " + text)


def tcl_words(text):
    """Split a Tcl list or command line into its words."""
    words = []
    text = text.strip()
    pos = 0
    while pos < len(text):
        if text[pos] == "{":
            end = closing_brace(text, pos)
            words.append(text[pos + 1:end])
            pos = end + 1
        else:
            match = QUOTED_WORD.match(text, pos) or BARE_WORD.match(text, pos)
            words.append(tcl_unescape(match[match.lastindex or 0]))
            pos = match.end()
        while pos < len(text) and text[pos].isspace():
            pos += 1
    return words


class Selector:
    """Evaluates DejaGnu target selectors for one language."""

    def __init__(self, language):
        self.true_targets = TRUE_TARGETS | ({language} & {"c", "c++"})
        self.false_targets = (FALSE_TARGETS | {"c", "c++"}) - self.true_targets
        self.unknown = set()

    def keyword(self, word):
        """Tell whether an effective target or a target triplet matches."""
        if word in self.true_targets:
            return True
        if "*" in word or word.count("-") >= 2:
            return fnmatch.fnmatchcase(TRIPLET, word)
        if word not in self.false_targets:
            self.unknown.add(word)
        return False

    def holds(self, expression):
        """Evaluate `keyword`, `{ ! x }`, `{ x && y }`, `{ x || y }` or a list."""
        words = tcl_words(expression)
        if len(words) == 1 and words[0] != expression.strip():
            return self.holds(words[0])
        if len(words) == 2 and words[0] == "!":
            return not self.holds(words[1])
        if len(words) == 3 and words[1] in ("&&", "||"):
            left, right = self.holds(words[0]), self.holds(words[2])
            return left and right if words[1] == "&&" else left or right
        return any(self.keyword(word) for word in words)

    def clause(self, arguments, index):
        """Evaluate the optional `target X` or `xfail X` argument at `index`.

        Returns (applies, expected to fail).
        """
        if len(arguments) <= index or not arguments[index].strip():
            return True, False
        kind, _, expression = arguments[index].strip().partition(" ")
        holds = self.holds(expression)
        return (True, holds) if kind == "xfail" else (holds, False)


class Plan:
    """What the directives of one test ask for.

    The `dg_*` methods mirror the directives of the same name; directives that
    have no method here do not affect building or running.
    """

    def __init__(self, path, language, model):
        self.path = path
        self.model = model
        self.language = language
        self.flags = default_flags(model)
        self.selector = Selector(language)
        self.action = "run"
        self.sources = [path]
        self.env = {}
        self.needs = {"openacc"} if model == "openacc" else set()
        self.output = None
        self.output_text = None
        self.timeout = None
        self.timeout_factor = 1.0
        self.shouldfail = False
        self.xfail = False
        self.skipped = None
        self.compile_failure = None
        self.notes = []
        self._action_selected = None
        self._read_directives()
        if self._action_selected is False:
            self.skip("dg-do does not select this target")

    def _read_directives(self):
        for line in read_source(self.path).splitlines():
            match = DIRECTIVE.search(line)
            method = match and getattr(self, "dg_" + match[1].replace("-", "_"), None)
            if method:
                method(tcl_words(match[2]))
        for name in sorted(self.selector.unknown):
            self.notes.append("unknown effective target " + name)

    def skip(self, reason):
        """Do not build the test; the first reason counts."""
        self.skipped = self.skipped or reason

    def need(self, target):
        """Have the machine that runs the test probed for an effective target."""
        if target in PROBE_FOR_TARGET:
            self.needs.add(PROBE_FOR_TARGET[target])

    def matches_flags(self, arguments):
        """Check the `{ include } { exclude }` arguments of dg-skip-if etc."""
        def any_matches(patterns):
            return any(all(fnmatch.filter(flags, part) for part in pattern.split())
                       for pattern in patterns)
        flags = ["toolname"] + self.flags
        include = tcl_words(arguments[2]) if len(arguments) > 2 else ["*"]
        exclude = tcl_words(arguments[3]) if len(arguments) > 3 else []
        return any_matches(include) and not any_matches(filter(None, exclude))

    def applies(self, arguments):
        """Evaluate the `comment { targets } { include } { exclude }` form."""
        return self.selector.holds(arguments[1]) and self.matches_flags(arguments)

    def dg_do(self, arguments):
        selected, xfail = self.selector.clause(arguments, 1)
        if selected or not self._action_selected:
            self.action = arguments[0]
        if selected and len(arguments) > 1:
            self.need(arguments[1].replace("target", "", 1).strip(" {}"))
        self.xfail = self.xfail or xfail
        self._action_selected = selected or bool(self._action_selected)

    def dg_options(self, arguments):
        if self.selector.clause(arguments, 1)[0]:
            if self.language == "fortran" or self.model == "openacc":
                self.dg_additional_options(arguments[:1])
            else:
                self.flags = [OFFLOAD_FLAG] + tcl_words(arguments[0])

    def dg_additional_options(self, arguments):
        if self.selector.clause(arguments, 1)[0]:
            self.flags += tcl_words(arguments[0])

    def dg_additional_sources(self, arguments):
        if self.selector.clause(arguments, 1)[0]:
            self.sources += [self.path.parent / name for name in arguments[0].split()]

    def dg_set_target_env_var(self, arguments):
        self.env[arguments[0]] = arguments[1]

    def dg_output(self, arguments):
        applies, xfail = self.selector.clause(arguments, 1)
        if applies:
            # What is expected not to match may match all the same.
            self.output = (self.output or "") + ("(?:{})?" if xfail else "{}").format(arguments[0])

    def dg_output_file(self, arguments):
        if self.selector.clause(arguments, 1)[0]:
            self.output_text = read_source(self.path.parent / arguments[0])

    def dg_shouldfail(self, arguments):
        if len(arguments) < 2 or self.applies(arguments):
            self.shouldfail = True

    def dg_xfail_run_if(self, arguments):
        self.xfail = self.xfail or self.applies(arguments)

    def dg_skip_if(self, arguments):
        if self.applies(arguments):
            self.skip("dg-skip-if " + (arguments[0] or arguments[1].strip()))

    def dg_require_effective_target(self, arguments):
        name = arguments[0]
        if len(arguments) > 1 and not self.selector.clause(arguments, 1)[0]:
            return
        if self.selector.holds(name):
            self.need(name)
        else:
            self.skip("needs " + name)

    def dg_timeout(self, arguments):
        if self.selector.clause(arguments, 1)[0]:
            self.timeout = float(arguments[0])

    def dg_timeout_factor(self, arguments):
        if self.selector.clause(arguments, 1)[0]:
            self.timeout_factor = float(arguments[0])

    def dg_excess_errors(self, arguments):
        expression = arguments[1].strip().partition(" ")[2] if len(arguments) > 1 else "*-*-*"
        if self.selector.holds(expression):
            self.compile_failure = "dg-excess-errors"

    def dg_error(self, arguments):
        if self.selector.clause(arguments, 2)[0]:
            self.compile_failure = "dg-error"

    def dg_xfail_if(self, arguments):
        if self.applies(arguments):
            self.compile_failure = "dg-xfail-if"

    def dg_ice(self, arguments):
        if self.applies(arguments):
            self.compile_failure = "dg-ice"


def read_source(path):
    """Read a test source, whatever its encoding."""
    return path.read_text(encoding="utf-8", errors="replace")


def with_includes(path, seen=None):
    """Yield the text of a source and of the files it includes by relative name."""
    seen = set() if seen is None else seen
    if path in seen or not path.is_file():
        return
    seen.add(path)
    text = read_source(path)
    yield text
    for name in INCLUDE.findall(text):
        yield from with_includes(Path(os.path.normpath(path.parent / name)), seen)


def exercises_offloading(plan):
    """Tell whether an OpenMP test has anything to do with devices."""
    return any(OFFLOADING.search(text)
               for source in plan.sources for text in with_includes(source))
def default_flags(model):
    """Flags of a test that has no dg-options."""
    openacc = ["-DACC_DEVICE_TYPE_nvidia=1", "-DACC_MEM_SHARED=0"] if model == "openacc" else []
    return openacc + [OFFLOAD_FLAG, "-O2"]


def select_tests(src, suites, only, every):
    """Return (name, suite, plan) of each `every`th of the run tests that exercise offloading."""
    tests = []
    for suite in suites:
        language, model = SUITES[suite]
        for path in sorted((src / suite).rglob("*")):
            name = path.relative_to(src).as_posix()
            if not SOURCE_NAMES[language].search(path.name) or not only.search(name):
                continue
            plan = Plan(path, language, model)
            if plan.action == "run" and (model == "openacc" or exercises_offloading(plan)):
                tests.append((name, suite, plan))
    return tests[::every]
