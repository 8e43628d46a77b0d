# The all-reduce of envdoc smoke by the image's own torch: one process a rank. The last line that it prints is its result.
import ctypes.util, glob, json, os, resource, sys, threading, time, traceback

rank, world, seconds, elements = (int(word) for word in sys.argv[1:5])
# Whatever hangs ends here.
alarm = threading.Timer(seconds, lambda: os._exit(124))
alarm.daemon = True
alarm.start()
result = {"rank": rank}


def memlock():
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def say():
    print("ENVDOC " + json.dumps(result), flush=True)


names = [name for name in ("NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_NET") if name in os.environ]
result["infiniband"] = {
    "devices": sorted(os.listdir("/sys/class/infiniband")) if os.path.isdir("/sys/class/infiniband") else [],
    "rates": [open(path).read().split()[0] for path in sorted(glob.glob("/sys/class/infiniband/*/ports/*/rate"))],
    "mounted": bool(glob.glob("/dev/infiniband/uverbs*")),
    "library": ctypes.util.find_library("ibverbs") is not None,
    "memlock": memlock(),
    "variables": {name: os.environ[name] for name in names},
}
try:
    # Whether the stage waits for other ranks.
    stage, waits = "import torch", False
    import datetime

    import torch
    import torch.distributed as dist

    result["torch"] = torch.__version__
    gpus = torch.cuda.is_available() and torch.cuda.device_count() > 0
    result["backend"] = "nccl" if gpus and dist.is_nccl_available() else "gloo"
    local = int(os.environ["LOCAL_RANK"])
    if result["backend"] == "nccl":
        stage, waits = "GPU %d" % local, False
        torch.cuda.set_device(local)
        result["device"] = torch.cuda.get_device_name(local)
        result["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    stage, waits = "init_process_group", True
    dist.init_process_group(
        result["backend"], rank=rank, world_size=world, timeout=datetime.timedelta(seconds=max(5, seconds * 2 // 3))
    )
    stage, waits = "all_reduce", True
    place = torch.device("cuda", local) if result["backend"] == "nccl" else torch.device("cpu")
    if place.type == "cuda":
        # Small sizes do not measure NVLink.
        elements *= 8
    result["bytes"] = elements * 4
    index = torch.arange(elements, dtype=torch.int64, device=place)

    def of(number):
        # Small whole numbers: their sum is exact in float32.
        return ((index * 31 + number * 17) % 251).to(torch.float32)

    def wait():
        if place.type == "cuda":
            torch.cuda.synchronize()

    wrong = 0
    data = of(rank)
    dist.all_reduce(data)
    expected = sum(of(number) for number in range(world))
    wrong += int((data != expected).sum().item())
    data.zero_()
    times = []
    for turn in range(7):
        dist.barrier()
        wait()
        start = time.perf_counter()
        dist.all_reduce(data)
        wait()
        if turn >= 2:
            times.append(time.perf_counter() - start)
    result.update(wrong=wrong, seconds=times)
    say()
    dist.barrier()
    dist.destroy_process_group()
except BaseException as error:
    if "seconds" not in result:
        words = str(error).strip().splitlines()
        result["failed"] = {"stage": stage, "waits": waits, "error": "%s: %s" % (type(error).__name__, words[0] if words else "")}
        say()
    # envdoc diagnose reads the whole traceback.
    traceback.print_exc()
    sys.stderr.flush()
    raise SystemExit(1)
# Exits without waiting for torch's threads.
sys.stdout.flush()
os._exit(0)
