#!/usr/bin/env python3
"""Random requests to `envdoc resolve`, each answer held against uv and the package index.

    tests/grid/run.py --seed 19 --count 500                needs uv and the network
    ENVDOC=PROGRAM ENVDOC_UV=PROGRAM tests/grid/run.py …   instead of target/debug/envdoc and uv

A stack must install from wheels alone, with the parts that envdoc names. A refusal must be uv's too, unless
without the GPU, the driver and the CUDA version envdoc has a stack: no index knows of these. Nor does it know
of the CUDA whose libraries a wheel loads: a refusal for that counts as explained where envdoc refuses every
solution that uv finds for that alone. uv's answers are
kept in target/grid, so that a second run asks only what is new. A line for each request goes to
target/grid/outcomes.tsv; the last lines are the counts. The exit status is 1 when anything differs.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys

import requests
import uv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The glibc of systems; of a machine without a name it is unknown, and a new one is taken.
GLIBC = {
    "ubuntu20.04": "2.31", "ubuntu22.04": "2.35", "ubuntu24.04": "2.39", "ubuntu26.04": "2.40",
    "debian11": "2.31", "debian12": "2.36", "debian13": "2.40", None: "2.39",
}
HARDWARE = ["gpu", "driver", "cuda"]
# More solutions of uv than a package has releases are not asked for.
SOLUTIONS_MAX = 100
# The constraint on the CUDA that the compiled code of a package loads.
LOADED = "package-cuda"
WRONG = ["not understood", "not judged", "does not install", "parts differ", "uv accepts"]


class Grid:
    def __init__(self, envdoc, judge):
        self.envdoc, self.judge = envdoc, judge

    def ask(self, options):
        """envdoc's answer, or None and its error."""
        command = [self.envdoc, "resolve", "--format", "json", *options]
        environment = {"ENVDOC_CATALOG_DIR": "", **os.environ}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ran.returncode not in (0, 1, 3):
            return None, ran.stderr.strip().splitlines()[0]
        return json.loads(ran.stdout), None

    def outcome(self, wish):
        answer, error = self.ask(requests.options(wish))
        if answer is None:
            return "not understood", error
        try:
            return self.stack(answer["stack"]) if answer["stack"] else self.refusal(wish, answer["conflict"])
        except RuntimeError as error:
            return "not judged", str(error)

    def stack(self, stack):
        lines = pinned(stack)
        pins, error = self.judge.wheels(lines, stack["python"], stack["architecture"], GLIBC[stack["system"]])
        if pins is None:
            return "does not install", "%s | %s" % (" ".join(lines), last(error))
        if stack["index_url"]:
            return "installs, torch of another index", ""
        differences = list(parts(stack, pins))
        if differences:
            return "parts differ", "; ".join(differences)
        return "installs with the same parts", ""

    def refusal(self, wish, conflict):
        reasons = ", ".join(sorted({one["constraint"] for one in conflict["reasons"]}))
        lines = list(wish["packages"])
        if wish["torch"]:
            lines.append("torch==" + wish["torch"])
        if not any(uv.name(line) == "torch" for line in lines):
            lines.append("torch")
        pins, error = self.judge.wheels(lines, wish["python"], wish["arch"], GLIBC[None])
        if pins is None:
            return "both refuse", reasons
        if any(one["constraint"].startswith("flash-attn-wheel") for one in conflict["reasons"]):
            return "refused for a wheel of flash-attn, of which the index knows nothing", reasons
        if conflict.get("undecided"):
            return "older than the catalog", conflict["message"]
        # Where PyPI's wheel is a CPU build, so is what uv accepts.
        ways = [requests.options(wish, HARDWARE)]
        ways += [ways[0] + ["--cuda", "cpu"]]
        for way, kind in zip(ways, ["CUDA, GPU or driver", "CUDA: the index has a CPU build"]):
            without, _ = self.ask(way)
            if without and without["stack"]:
                return "refused for " + kind, reasons
        named = {uv.name(line) for line in lines}
        if LOADED in reasons and self.all_refused_for_loaded_cuda(wish, lines, pins):
            return "refused for the CUDA whose libraries a wheel loads, unknown to the index", reasons
        found = " ".join("%s==%s" % pin for pin in pins.items() if pin[0] in named)
        return "uv accepts", "%s | %s | uv: %s" % (reasons, conflict["message"], found)

    def all_refused_for_loaded_cuda(self, wish, lines, pins):
        """Whether envdoc refuses each solution of uv for that alone: uv is asked again without each."""
        named = sorted({uv.name(line) for line in lines} - {"torch"})
        excluded = []
        for _ in range(SOLUTIONS_MAX):
            solution = {name: "%s==%s" % (name, pins[name]) for name in named}
            if not self.refused_for_loaded_cuda(wish, pins["torch"], solution.values()):
                return False
            refused = lambda name: self.refused_for_loaded_cuda(wish, pins["torch"], [solution[name]])
            alone = list(filter(refused, named))
            if not alone:
                return False
            excluded += ["%s!=%s" % (name, pins[name]) for name in alone]
            pins, _ = self.judge.wheels(lines + excluded, wish["python"], wish["arch"], GLIBC[None])
            if pins is None:
                return True
        return False

    def refused_for_loaded_cuda(self, wish, torch, packages):
        exact = {**wish, "packages": list(packages), "torch": torch}
        answer, _ = self.ask(requests.options(exact, HARDWARE))
        if not answer or answer["stack"]:
            return False
        return all(one["constraint"] == LOADED for one in answer["conflict"]["reasons"])


def pinned(stack):
    parts = [(name, stack[name]) for name in ["torch", "torchvision", "torchaudio", "deepspeed"]]
    return ["%s==%s" % one for one in [*parts, *stack["packages"].items()] if one[1]]


def parts(stack, pins):
    """Where uv's parts of torch's build differ from envdoc's."""
    libraries = {one: version for one, version in pins.items() if one.startswith(("nvidia-", "cuda-toolkit"))}
    found = {
        "triton": pins.get("triton"),
        "nccl": one_of(libraries, "nvidia-nccl-cu"),
        "cudnn": one_of(libraries, "nvidia-cudnn-cu"),
        "cuda": one_of(libraries, "nvidia-cuda-runtime", "cuda-toolkit"),
    }
    if found["cuda"]:
        found["cuda"] = ".".join(found["cuda"].split(".")[:2])
    if stack["torch_build"] == "cpu" and not libraries:
        found["cuda"] = "cpu"
    if stack["torch_build"] == "cpu" and found["nccl"]:
        yield "torch: envdoc has a CPU build, uv installs %s" % ", ".join(sorted(libraries))
    if stack["torch_build"] != "cpu" and not found["cuda"]:
        yield "torch: envdoc has %s, uv installs no CUDA library" % stack["torch_build"]
        return
    for name, version in found.items():
        said = stack.get(name)
        if said != version and not (said and version and within(said, version)):
            yield "%s: envdoc says %s, uv installs %s" % (name, said, version)


def within(said, version):
    """Whether a version is within `~=3.9.0`, the only kind of range that envdoc names for a part of torch."""
    return said.startswith("~=") and said[2:].rpartition(".")[0] == version.rpartition(".")[0]


def one_of(libraries, *beginnings):
    return next((version for name, version in sorted(libraries.items()) if name.startswith(beginnings)), None)


def last(error):
    return " ".join(error.split())[-400:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=4, help="how many uv run at once; mostly they wait")
    given = parser.parse_args()
    judge = uv.Judge(os.environ.get("ENVDOC_UV", "uv"), os.path.join(ROOT, "target/grid"))
    if judge.compile(["six==1.16.0"], "3.12", "x86_64", "2.35")[0] is None:
        sys.exit("the package index cannot be asked")
    grid = Grid(os.environ.get("ENVDOC", os.path.join(ROOT, "target/debug/envdoc")), judge)
    wishes = requests.requests(given.seed, given.count)
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        with open(os.path.join(ROOT, "target/grid/outcomes.tsv"), "w") as file:
            for wish, (kind, detail) in zip(wishes, pool.map(grid.outcome, wishes)):
                counts[kind] += 1
                print(kind, " ".join(requests.options(wish)), detail, sep="\t", file=file, flush=True)
    for kind, count in sorted(counts.items()):
        print("%4d %s" % (count, kind))
    sys.exit(any(counts[kind] for kind in WRONG))


main()
