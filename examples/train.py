"""A training loop that never hangs and never dies without a word: one rank's trouble ends all ranks within seconds, and the reason is printed.

    torchrun --nproc-per-node 2 train.py                 # one machine
    envdoc cluster launch --launcher torchrun -- /workspace/train.py

What each part is for stands in docs/training.md. Replace `fetch`, `build` and `batch` by your own; the rest can stay as it is.
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


# Seconds between two signs of life.
BEAT = 0.3


def arguments():
    words = argparse.ArgumentParser()
    words.add_argument("--steps", type=int, default=50)
    words.add_argument("--batch", type=int, default=64, help="samples of a rank in a step, whatever memory allows at once")
    words.add_argument("--patience", type=float, default=60, help="seconds that a step may take before it counts as hung")
    words.add_argument("--start", type=float, default=300, help="seconds until all ranks must be there, data included")
    words.add_argument("--checkpoint", default="")
    # For trying out what happens then: RANK:STEP, and the most samples that fit into memory.
    words.add_argument("--die", default="", help=argparse.SUPPRESS)
    words.add_argument("--hang", default="", help=argparse.SUPPRESS)
    words.add_argument("--nan", default="", help=argparse.SUPPRESS)
    words.add_argument("--fits", type=int, default=0, help=argparse.SUPPRESS)
    words.add_argument("--no-data", action="store_true", help=argparse.SUPPRESS)
    return words.parse_args()


def meeting_point():
    """The store where the ranks met, by a connection of its own."""
    settings = {"is_master": False, "timeout": datetime.timedelta(seconds=5), "wait_for_workers": False}
    if "USE_LIBUV" in os.environ:
        settings["use_libuv"] = os.environ["USE_LIBUV"] == "1"
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), **settings)


class Run:
    """The ranks, and what they tell each other beside the gradients."""

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
        # A collective that one rank never joins ends with an error instead of waiting half an hour.
        dist.init_process_group("nccl" if gpus else "gloo", timeout=datetime.timedelta(seconds=patience))
        # Questions to all ranks go over CPUs: they are answered when the GPUs hang, and Gloo can say which rank is missing.
        self.control = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=patience))
        self.hosts = [None] * self.world
        dist.all_gather_object(self.hosts, socket.gethostname(), group=self.control)
        # A way of its own to the store where the ranks met: for signs of life, and for last words.
        self.store = meeting_point()

    def say(self, text):
        print("[rank %d on %s] %s" % (self.rank, socket.gethostname(), text), file=sys.stderr, flush=True)

    def stop(self, *_):
        """SIGTERM, of Slurm, Kubernetes or torchrun: all ranks end together after this step."""
        self.stopping = True

    def alive(self, doing, seconds=None):
        """This rank is getting on."""
        self.last, self.doing = time.monotonic() + (seconds or self.patience * 1.5), doing

    def watch(self):
        """Ends a rank that hangs where no timeout of torch reaches it: a dead disk, a driver that does not come back."""
        while time.monotonic() < self.last:
            time.sleep(BEAT)
            try:
                if self.store:
                    self.store.add("beat/%d" % self.rank, 1)
            except Exception:
                pass  # The store is gone; the next collective ends this rank.
        self.say("hangs in %s: ended" % self.doing)
        os._exit(70)

    def all_here(self, doing, seconds=None):
        """Every rank has come as far as this; else an error that names the one that has not."""
        self.alive(doing, seconds and seconds * 1.5)
        waits = datetime.timedelta(seconds=seconds or self.patience)
        dist.monitored_barrier(group=self.control, timeout=waits, wait_all_ranks=True)

    def agree(self, **flags):
        """For each flag the ranks for which it is true; all ranks get the same answer."""
        # Gloo's other collectives cannot say who is missing.
        self.all_here(self.doing)
        told = torch.tensor([float(value) for value in flags.values()])
        all_told = [torch.zeros_like(told) for _ in range(self.world)]
        dist.all_gather(all_told, told, group=self.control)
        return {name: [rank for rank in range(self.world) if all_told[rank][place]] for place, name in enumerate(flags)}

    def last_words(self, why):
        """Leaves word why this rank ends, and finds out what became of the others: who told why, and who is silent."""
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
                # With it the store ends, which the others ask still.
                time.sleep(BEAT * 4)
            said = ["%s: %s" % (self.names([rank]), store.get("why/%d" % rank).decode()) for rank in ended]
        except Exception as error:
            return "the store at %s is gone, and %s with it: look there first (%s)" % (os.environ["MASTER_ADDR"], self.names([0]), type(error).__name__)
        if silent:
            said.insert(0, "no sign of life from %s: its process has ended, or its node is gone" % self.names(silent))
        return "; ".join(said)

    def names(self, ranks):
        return ", ".join("rank %d on %s" % (rank, self.hosts[rank]) for rank in ranks)

    def first_here(self, work, seconds):
        """One rank of each node does it (downloads, unpacks), the others wait; where it fails, all ranks end and say whose it was."""
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
            raise RuntimeError("the data is not there: it failed on %s" % self.names(broken))


def fetch(words):
    """Yours: what must be on the node's disk before training begins."""
    if words.no_data:
        raise FileNotFoundError("there is no data (--no-data)")


def build(place):
    """Yours: the model, the same on every rank."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(place)
    return model, torch.optim.SGD(model.parameters(), lr=0.02)


def batch(rank, step, count, place):
    """Yours: the samples of a rank in a step."""
    numbers = torch.Generator().manual_seed(step * 100003 + rank)
    inputs = torch.randn(count, 32, generator=numbers).to(place)
    return inputs, inputs.sum(1, keepdim=True)


def gradients(words, model, samples, micro):
    """Gradients of all samples, `micro` at once, without a word to other ranks: whoever runs out of memory holds nobody."""
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
    """One step. Gives back the loss of all ranks and the micro-batch that fitted."""
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
            # Outside of `except`: there the traceback still holds the tensors.
            torch.cuda.empty_cache()
        # All ranks go on with the same micro-batch, or they would sum different numbers of times.
        told = run.agree(full=full, sick=loss != loss or abs(loss) == float("inf") or words.nan == at)
        if not told["full"]:
            break
        if micro == 1:
            raise RuntimeError("not even one sample fits into memory on %s" % run.names(told["full"]))
        micro = max(1, micro // 2)
    # Before the sum, which would spread it to everybody.
    if told["sick"]:
        raise RuntimeError("the loss is no number in step %d on %s" % (number, run.names(told["sick"])))
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= run.world
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    mean = torch.tensor([loss])
    dist.all_reduce(mean, group=run.control)
    return mean.item() / run.world, micro


def save(run, words, model, number):
    """The first rank writes, whole or not at all."""
    if words.checkpoint and run.rank == 0:
        torch.save({"step": number, "model": model.state_dict()}, words.checkpoint + ".part")
        os.replace(words.checkpoint + ".part", words.checkpoint)


def train(run, words):
    run.first_here(lambda: fetch(words), words.start)
    # Weights come from slow disks, and libraries load half of themselves only now: nobody begins before all are ready.
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
            run.say("stopped after step %d: SIGTERM came to %s" % (number, run.names(stopped)))
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
        why = "%s: %s" % (type(error).__name__, (str(error).strip() or "no words").splitlines()[0])
        say("ended: " + why)
        others = run and run.last_words(why)
        if others:
            say(others)
        # At once: what the libraries do at an orderly end waits for the ranks that are gone.
        os._exit(1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
