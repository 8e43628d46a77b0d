"""Gloo's all-reduce of torch: `gloo.py RANK ADDRESS PORT BYTES ROUNDS INTERFACE` prints the rank, its best bandwidth, the version of torch, and its
median bandwidth, in GB/s."""
import os, sys, time
import torch, torch.distributed as dist
rank, address, port, size, rounds, interface = (kind(word) for kind, word in zip((int, str, int, int, int, str), sys.argv[1:7]))
os.environ.update(MASTER_ADDR=address, MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2", GLOO_SOCKET_IFNAME=interface, USE_LIBUV="0")
dist.init_process_group("gloo")
data, seconds = torch.zeros(size // 4), []
for turn in range(rounds + 2):
    dist.barrier()
    start = time.perf_counter()
    dist.all_reduce(data)
    if turn >= 2:
        seconds.append(time.perf_counter() - start)
seconds.sort()
print(rank, "%.4f" % (size / seconds[0] / 1e9), torch.__version__, "%.4f" % (size / seconds[len(seconds) // 2] / 1e9), flush=True)
os._exit(0)
