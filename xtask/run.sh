#!/bin/bash
# Runs the programs and benches of this bundle on the machine's GPU, with our plugin and with GCC's own.
#
#   bash run.sh OUTDIR [all|programs|bench|mps]
#   bash run.sh OUTDIR conformance [PART]
#
# Prints tables; writes OUTDIR/results.json, OUTDIR/report.txt and OUTDIR/logs.tar.gz. `mps` runs the programs with our
# plugin under NVIDIA's multi-process service, whose clients have two hardware channels each. At most nine minutes.
#
# `conformance` takes a bundle made with --conformance, and python3: it runs GCC's tests of libgomp, those of one part (such as
# part-1) or of all that are unpacked here. Their results are in logs.tar.gz.
set -euo pipefail

bundle=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: bash run.sh OUTDIR [all|programs|bench|mps]}
what=${2:-all}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ ! -f "$bundle/programs.tar.gz" ] || [ -d "$bundle/programs" ] || tar -xzf "$bundle/programs.tar.gz" -C "$bundle"

if [ "$what" = mps ]; then
    export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d
    trap 'echo quit | nvidia-cuda-mps-control || true; rm -rf "$work"' EXIT
fi

status=0
"$bundle/bin/xtask" run-bundle "$work" "$what" "${@:3}" 2>&1 | tee "$out/report.txt" || status=$?
[ ! -f "$work/results.json" ] || cp "$work/results.json" "$out/"
[ ! -d "$work/logs" ] || tar -czf "$out/logs.tar.gz" -C "$work" logs
exit "$status"
