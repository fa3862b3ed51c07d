#!/bin/bash
# Runs the programs and benches of this bundle on the machine's GPU, with our plugin and with GCC's own.
#
#   bash run.sh OUTDIR [all|programs|bench|mps] [--only REGEX] [--seconds N] [--resume RESULTS.JSON]
#   bash run.sh OUTDIR conformance [PART]
#
# Prints tables; writes OUTDIR/results.json (after each run anew), OUTDIR/report.txt and OUTDIR/logs.tar.gz. `mps` runs the
# programs with our plugin under NVIDIA's multi-process service, whose clients have two hardware channels each. --only: what has a
# matching name. --seconds: when to end, 500 without it. --resume: completes an earlier session, whose results.json is given: what
# has passed there isn't run again, and the new results.json holds both. So what takes longer than a machine is lent is run in
# several goes. Variables BOOMERANG_*, GOMP_* and CUDA_DEVICE_MAX_CONNECTIONS reach the programs, unless a program or a variant sets
# them itself, and are named in the results; one session can't take up another that had other ones.
#
# `conformance` takes a bundle made with --conformance, and python3: it runs GCC's tests of libgomp, those of one part (such as
# part-1) or of all that are unpacked here. Their results are in logs.tar.gz.
set -euo pipefail

bundle=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: bash run.sh OUTDIR [all|programs|bench|mps] [--only REGEX] [--seconds N] [--resume RESULTS.JSON]}
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Where the bundle can't be written, programs go to the temporary folder. Not under their name until all are there.
if [ -f "$bundle/programs.tar.gz" ] && [ ! -d "$bundle/programs" ]; then
    place=$work
    [ ! -w "$bundle" ] || place=$bundle
    mkdir -p "$place/unpacking"
    tar -xzf "$bundle/programs.tar.gz" -C "$place/unpacking"
    mv "$place/unpacking/programs" "$place/programs"
fi
runner=$bundle/bin/xtask
if [ ! -x "$runner" ]; then
    cp "$runner" "$work/xtask"
    runner=$work/xtask
    chmod +x "$runner"
fi

# The driver keeps what it compiled: else each program would wait for seconds with GCC's plugin. HOME may not be writable.
export CUDA_CACHE_PATH=$work/driver-cache

if [ "${1:-all}" = mps ]; then
    export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d
    trap 'echo quit | nvidia-cuda-mps-control || true; rm -rf "$work"' EXIT
fi

status=0
"$runner" run-bundle "$bundle" "$work" "$out" "$@" 2>&1 | tee "$out/report.txt" || status=$?
[ ! -d "$work/logs" ] || tar -czf "$out/logs.tar.gz" -C "$work" logs
exit "$status"
