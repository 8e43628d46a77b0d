"""A training loop that does not hang or exit silently: a failure of one rank ends all ranks within seconds, and the reason is printed.

    torchrun --nproc-per-node 2 train.py                 # one machine
    envdoc cluster launch --launcher torchrun -- /workspace/train.py

docs/training.md explains each part. Replace `fetch`, `build` and `batch` with your own; keep the rest.
"""
import argparse
import datetime
import os
import signal
import socket
import sys
import threading
import time
import traceback

import torch
import torch.distributed as dist


# Heartbeat interval in seconds.
BEAT = 0.3


def arguments():
    words = argparse.ArgumentParser()
    words.add_argument("--steps", type=int, default=50)
    words.add_argument("--batch", type=int, default=64, help="samples per rank and step; micro-batches shrink until they fit into memory")
    words.add_argument("--patience", type=float, default=60, help="seconds after which a step counts as hung")
    words.add_argument("--start", type=float, default=300, help="seconds until all ranks must be ready, including the data download")
    words.add_argument("--checkpoint", default="")
    # Fault injection: RANK:STEP, and the number of samples that fit into memory.
    words.add_argument("--die", default="", help=argparse.SUPPRESS)
    words.add_argument("--hang", default="", help=argparse.SUPPRESS)
    words.add_argument("--nan", default="", help=argparse.SUPPRESS)
    words.add_argument("--fits", type=int, default=0, help=argparse.SUPPRESS)
    words.add_argument("--no-data", action="store_true", help=argparse.SUPPRESS)
    return words.parse_args()


def rendezvous_store():
    """A separate connection to the rendezvous store."""
    settings = {"is_master": False, "timeout": datetime.timedelta(seconds=5), "wait_for_workers": False}
    if "USE_LIBUV" in os.environ:
        settings["use_libuv"] = os.environ["USE_LIBUV"] == "1"
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), **settings)


class Run:
    """The ranks and their control messages."""

    def __init__(self, patience, start):
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local, self.patience, self.stopping = int(os.environ["LOCAL_RANK"]), patience, False
        self.last, self.doing, self.store = time.monotonic() + start, "the start", None
        threading.Thread(target=self.watch, daemon=True).start()
        signal.signal(signal.SIGTERM, self.stop)
        gpus = torch.cuda.is_available()
        self.place = torch.device("cuda", self.local) if gpus else torch.device("cpu")
        if gpus:
            torch.cuda.set_device(self.place)
        # A collective that one rank never joins fails after this timeout instead of the default of several minutes.
        dist.init_process_group("nccl" if gpus else "gloo", timeout=datetime.timedelta(seconds=patience))
        # Control messages use Gloo on CPUs: they work while GPUs hang, and Gloo reports which rank is missing.
        self.control = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=patience))
        self.hosts = [None] * self.world
        dist.all_gather_object(self.hosts, socket.gethostname(), group=self.control)
        # A separate connection to the rendezvous store, for heartbeats and error messages.
        self.store = rendezvous_store()

    def say(self, text):
        print("[rank %d on %s] %s" % (self.rank, socket.gethostname(), text), file=sys.stderr, flush=True)

    def stop(self, *_):
        """SIGTERM from Slurm, Kubernetes or torchrun: all ranks stop together after this step."""
        self.stopping = True

    def alive(self, doing, seconds=None):
        """Records progress of this rank."""
        self.last, self.doing = time.monotonic() + (seconds or self.patience * 1.5), doing

    def watch(self):
        """Ends a rank that hangs where no torch timeout applies: a dead disk, a hung driver."""
        while time.monotonic() < self.last:
            time.sleep(BEAT)
            try:
                if self.store:
                    self.store.add("beat/%d" % self.rank, 1)
            except Exception:
                pass  # The store is gone; the next collective ends this rank.
        self.say("hung in %s: exiting" % self.doing)
        os._exit(70)

    def all_here(self, doing, seconds=None):
        """Waits for all ranks; fails with an error that names the missing one."""
        self.alive(doing, seconds and seconds * 1.5)
        waits = datetime.timedelta(seconds=seconds or self.patience)
        dist.monitored_barrier(group=self.control, timeout=waits, wait_all_ranks=True)

    def agree(self, **flags):
        """For each flag, the ranks for which it is true; the same result on every rank."""
        # Other Gloo collectives do not report which rank is missing.
        self.all_here(self.doing)
        told = torch.tensor([float(value) for value in flags.values()])
        all_told = [torch.zeros_like(told) for _ in range(self.world)]
        dist.all_gather(all_told, told, group=self.control)
        return {name: [rank for rank in range(self.world) if all_told[rank][place]] for place, name in enumerate(flags)}

    def last_words(self, why):
        """Stores why this rank ends, and collects the reasons of the others and the ranks without a heartbeat."""
        self.alive("the end", 30)
        try:
            store = self.store
            store.set("why/%d" % self.rank, why)
            store.add("ended/%d" % self.rank, 1)
            others = [rank for rank in range(self.world) if rank != self.rank]
            before = {rank: store.add("beat/%d" % rank, 0) for rank in others}
            time.sleep(BEAT * 5)
            silent = [rank for rank in others if store.add("beat/%d" % rank, 0) == before[rank]]
            ended = [rank for rank in others if store.add("ended/%d" % rank, 0)]
            silent = [rank for rank in silent if rank not in ended]
            if self.rank == 0:
                # Rank 0 hosts the store, which the others still need.
                time.sleep(BEAT * 4)
            said = ["%s: %s" % (self.names([rank]), store.get("why/%d" % rank).decode()) for rank in ended]
        except Exception as error:
            return "the store at %s is gone, and so is %s: look there first (%s)" % (os.environ["MASTER_ADDR"], self.names([0]), type(error).__name__)
        if silent:
            said.insert(0, "no heartbeat from %s: its process exited, or its node is down" % self.names(silent))
        return "; ".join(said)

    def names(self, ranks):
        return ", ".join("rank %d on %s" % (rank, self.hosts[rank]) for rank in ranks)

    def first_here(self, work, seconds):
        """One rank per node does the work (download, unpack), the others wait; if it fails, all ranks end and name the failed one."""
        failed = None
        if self.local == 0:
            try:
                work()
            except Exception as error:
                failed = error
                self.say("%s: %s" % (type(error).__name__, error))
        self.all_here("the download", seconds)
        broken = self.agree(broken=failed is not None)["broken"]
        if broken:
            raise RuntimeError("the data download failed on %s" % self.names(broken))


def fetch(words):
    """Replace: download the training data to the node's disk."""
    if words.no_data:
        raise FileNotFoundError("there is no data (--no-data)")


def build(place):
    """Replace: build the model, identical on every rank."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(place)
    return model, torch.optim.SGD(model.parameters(), lr=0.02)


def batch(rank, step, count, place):
    """Replace: return the samples of this rank for a step."""
    numbers = torch.Generator().manual_seed(step * 100003 + rank)
    inputs = torch.randn(count, 32, generator=numbers).to(place)
    return inputs, inputs.sum(1, keepdim=True)


def gradients(words, model, samples, micro):
    """Gradients of all samples, `micro` at a time, without communication: a rank that runs out of memory blocks no other."""
    inputs, wanted = samples
    total = 0.0
    for begin in range(0, len(inputs), micro):
        part = inputs[begin : begin + micro]
        if words.fits and len(part) > words.fits:
            raise torch.cuda.OutOfMemoryError("simulated: %d samples at once" % len(part))
        loss = torch.nn.functional.mse_loss(model(part), wanted[begin : begin + micro]) * (len(part) / len(inputs))
        loss.backward()
        total += loss.item()
    return total


def step(run, words, model, optimizer, number, micro):
    """One step. Returns the mean loss of all ranks and the micro-batch size that fit."""
    run.alive("step %d" % number)
    at = "%d:%d" % (run.rank, number)
    if words.die == at:
        os.kill(os.getpid(), signal.SIGKILL)
    if words.hang == at:
        time.sleep(3600)
    samples = batch(run.rank, number, words.batch, run.place)
    while True:
        optimizer.zero_grad(set_to_none=True)
        full, loss = False, 0.0
        try:
            loss = gradients(words, model, samples, micro)
        except torch.cuda.OutOfMemoryError as error:
            full = True
            run.say("out of memory with %d samples at once: %s" % (micro, str(error).splitlines()[0]))
        if full and run.place.type == "cuda":
            # Outside of `except`, where the traceback would keep the tensors alive.
            torch.cuda.empty_cache()
        # All ranks use the same micro-batch size; otherwise their numbers of all-reduces differ.
        told = run.agree(full=full, sick=loss != loss or abs(loss) == float("inf") or words.nan == at)
        if not told["full"]:
            break
        if micro == 1:
            raise RuntimeError("not even one sample fits into memory on %s" % run.names(told["full"]))
        micro = max(1, micro // 2)
    # Before the all-reduce, which would spread it to all ranks.
    if told["sick"]:
        raise RuntimeError("the loss is not finite in step %d on %s" % (number, run.names(told["sick"])))
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= run.world
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    mean = torch.tensor([loss])
    dist.all_reduce(mean, group=run.control)
    return mean.item() / run.world, micro


def save(run, words, model, number):
    """Rank 0 writes the checkpoint atomically."""
    if words.checkpoint and run.rank == 0:
        torch.save({"step": number, "model": model.state_dict()}, words.checkpoint + ".part")
        os.replace(words.checkpoint + ".part", words.checkpoint)


def train(run, words):
    run.first_here(lambda: fetch(words), words.start)
    # Weights load from slow disks and libraries load lazily: start only when all ranks are ready.
    run.alive("building the model", words.start)
    model, optimizer = build(run.place)
    run.all_here("building the model", words.start)
    micro, number = words.batch, 0
    for number in range(words.steps):
        loss, micro = step(run, words, model, optimizer, number, micro)
        if run.rank == 0 and (number % 10 == 0 or number == words.steps - 1):
            print("step %d loss %.4f micro-batch %d" % (number, loss, micro), flush=True)
        stopped = run.agree(stop=run.stopping)["stop"]
        if stopped:
            run.say("stopped after step %d: SIGTERM received by %s" % (number, run.names(stopped)))
            break
    save(run, words, model, number)
    run.all_here("the end")


def main():
    words = arguments()
    run = None
    try:
        run = Run(words.patience, words.start)
        train(run, words)
    except BaseException as error:
        traceback.print_exc()
        say = run.say if run else lambda text: print("[rank %s] %s" % (os.environ.get("RANK", "?"), text), file=sys.stderr, flush=True)
        why = "%s: %s" % (type(error).__name__, (str(error).strip() or "no message").splitlines()[0])
        say("ended: " + why)
        others = run and run.last_words(why)
        if others:
            say(others)
        # Exit immediately: an orderly shutdown would wait for ranks that are gone.
        os._exit(1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
