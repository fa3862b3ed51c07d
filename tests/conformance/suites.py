"""What of GCC's libgomp testsuite is built and run, and what building and running share."""

import json
import re
from typing import NamedTuple


class Suite(NamedTuple):
    """One directory of the testsuite and how its tests are compiled."""

    language: str
    model: str


SUITES = {
    "libgomp.c": Suite("c", "openmp"),
    "libgomp.c-c++-common": Suite("c", "openmp"),
    "libgomp.c++": Suite("c++", "openmp"),
    "libgomp.fortran": Suite("fortran", "openmp"),
    "libgomp.oacc-c-c++-common": Suite("c", "openacc"),
    "libgomp.oacc-fortran": Suite("fortran", "openacc"),
}

SOURCE_NAMES = {
    "c": re.compile(r"\.c$"),
    "c++": re.compile(r"\.C$"),
    "fortran": re.compile(r"\.[fF](90|95|03|08)?$"),
}

# Files that the tests of a suite expect in the current directory.
DATA_FILES = {"libgomp.oacc-c-c++-common": ["subr.ptx"]}

# Programs that tell, where the tests are run, whether that machine has what a test needs: they exit with 0 if so.
PROBES = {
    "device": ("openmp", """
        #include <omp.h>
        int main (void)
        {
          int host = 1;
          #pragma omp target map(from: host)
            host = omp_is_initial_device ();
          return host;
        }"""),
    "usm": ("openmp", """
        #include <omp.h>
        #pragma omp requires unified_shared_memory
        int main (void)
        {
          int host = 1;
          #pragma omp target map(from: host)
            host = omp_is_initial_device ();
          return host;
        }"""),
    "openacc": ("openacc", """
        #include <openacc.h>
        int main (void)
        {
          return acc_get_num_devices (acc_device_nvidia) == 0;
        }"""),
}
PROBE_FOR_TARGET = {
    "offload_device": "device",
    "offload_device_nvptx": "device",
    "offload_device_nonshared_as": "device",
    "omp_managedmem": "device",
    "omp_usm": "usm",
    "openacc_nvidia_accel_present": "openacc",
    "openacc_nvidia_accel_selected": "openacc",
}

DATA_DIR = "data"
MANIFEST = "manifest.json"


def fill(words, **values):
    """Put values into a command line given as a pattern: `{name}` stands for the value of that name."""
    for name, value in values.items():
        words = [word.replace("{" + name + "}", str(value)) for word in words]
    return words


def write_json(path, data):
    """Write a JSON file, replacing an older one only when complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    partial.replace(path)
