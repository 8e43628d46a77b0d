# The DeepSpeed phase of envdoc smoke: a tiny model, ZeRO stage 2, started by DeepSpeed's launcher over SSH with a hostfile. Every rank trains on
# its own data; after every step all ranks evaluate the same data, and the loss must be bit-identical because the weights are.
#
#     deepspeed --hostfile HOSTFILE deepspeed.py --seconds 120 --steps 20
#
# envdoc reads a line `ENVDOC {…}` of each rank. `failed` says where it stopped; `waits` there: whether that stage waits for other ranks.
import argparse, datetime, json, os, shutil, socket, sys, threading, time, traceback

words = argparse.ArgumentParser()
words.add_argument("--seconds", type=int, default=120, help="the longest that all of it may take")
words.add_argument("--steps", type=int, default=20)
words.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", "0")))
words = words.parse_args()
# Deadline for anything that hangs: an import from a dead disk, a rendezvous, a collective.
alarm = threading.Timer(words.seconds, lambda: os._exit(124))
alarm.daemon = True
alarm.start()
result = {"rank": int(os.environ.get("RANK", "-1")), "host": socket.gethostname()}
stage, waits = "import torch", False
try:
    import torch

    result["torch"] = torch.__version__
    gpus = torch.cuda.is_available() and torch.cuda.device_count() > 0
    if not gpus:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    stage, waits = "import deepspeed", False
    import deepspeed
    import torch.distributed as dist

    result["deepspeed"] = deepspeed.__version__
    if not gpus and not (shutil.which("c++") and shutil.which("ninja")):
        # Otherwise DeepSpeed compiles its shared-memory extension for ranks of one machine, and there may be no compiler.
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    stage, waits = "init_distributed", True
    result["backend"] = "nccl" if gpus else "gloo"
    if gpus:
        torch.cuda.set_device(words.local_rank)
    limit = datetime.timedelta(seconds=max(5, words.seconds * 2 // 3))
    deepspeed.init_distributed(result["backend"], timeout=limit)
    rank, world = dist.get_rank(), dist.get_world_size()
    result.update(rank=rank, world=world)
    stage, waits = "initialize", False
    place = torch.device("cuda", words.local_rank) if gpus else torch.device("cpu")
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    judged = torch.randn(256, 64).to(place)
    wanted = judged.sum(1, keepdim=True)
    settings = {
        "train_micro_batch_size_per_gpu": 32,
        "gradient_accumulation_steps": 1,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        "zero_optimization": {"stage": 2},
        "steps_per_print": 1000000,
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
    torch.manual_seed(1000 + rank)
    losses, start = [], time.perf_counter()
    for step in range(words.steps):
        stage, waits = "step %d" % step, True
        inputs = torch.randn(32, 64).to(place)
        loss = torch.nn.functional.mse_loss(engine(inputs), inputs.sum(1, keepdim=True))
        engine.backward(loss)
        engine.step()
        with torch.no_grad():
            losses.append(torch.nn.functional.mse_loss(engine(judged), wanted).item())
    # float.hex keeps every bit for the comparison.
    result.update(first=losses[0], last=losses[-1], losses=[loss.hex() for loss in losses])
    result["seconds"] = time.perf_counter() - start
    print("ENVDOC " + json.dumps(result), flush=True)
    stage, waits = "the end", False
    dist.barrier()
    dist.destroy_process_group()
except BaseException as error:
    said = str(error).strip().splitlines()
    result["failed"] = {"stage": stage, "waits": waits, "error": "%s: %s" % (type(error).__name__, said[0] if said else "")}
    print("ENVDOC " + json.dumps(result), flush=True)
    # Diagnosis reads the full traceback.
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
# Exit without waiting for torch's threads.
sys.stdout.flush()
os._exit(0)
