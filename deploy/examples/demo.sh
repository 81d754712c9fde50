#!/bin/bash
# Five seconds on paper: this machine, then the four example manifests on described servers.
# `make demo` runs it with the environment on PATH; writes one file, numaplace-demo.html, into the current folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
page=${1:-numaplace-demo.html}

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
chapter() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

nodes=(--nodes "$here/nodes.yaml")
pods=()
for file in pod-example deployment-tgi-numa deployment-tgi-plain job-hps-benchmark; do
  pods+=(--pods "$here/$file.yaml")
done

chapter "1. The machine this runs on (numaplace show)"
numaplace show

chapter "2. Four manifests on four described servers (numaplace simulate)"
numaplace simulate "${nodes[@]}" "${pods[@]}"

chapter "3. Why a Pod that wants 4 GPUs and 120 CPUs in one NUMA node gets no place (numaplace explain)"
numaplace explain "$here/too-wide.yaml" "${nodes[@]}" "${pods[@]}" --node lingjun-2

chapter "4. The same as a picture"
numaplace simulate "${nodes[@]}" "${pods[@]}" --pods "$here/too-wide.yaml" --against none -o html --to "$page"
echo "Open $page in a browser."
