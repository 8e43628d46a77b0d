// Open MPI's all-reduce: `reduce BYTES ROUNDS` prints each rank, its best and its median bandwidth in GB/s.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int ascending(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}
int main(int count, char **words) {
    int rank, world, rounds = atoi(words[2]);
    size_t bytes = atol(words[1]);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    float *from = calloc(bytes, 1), *to = calloc(bytes, 1);
    double *seconds = calloc(rounds, sizeof *seconds);
    for (int round = -2; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        MPI_Allreduce(from, to, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        double took = MPI_Wtime() - start;
        if (round >= 0) seconds[round] = took;
    }
    qsort(seconds, rounds, sizeof *seconds, ascending);
    double carried = bytes * 2.0 * (world - 1) / world / 1e9;
    printf("%d %.4f %.4f\n", rank, carried / seconds[0], carried / seconds[rounds / 2]);
    MPI_Finalize();
}
