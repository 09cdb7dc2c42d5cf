// SPDX-License-Identifier: GPL-2.0
/*
 * Collective, one-sided and point-to-point operations of MPI whose results are known: every element is
 * compared. Prints "right" from rank 0, or what was wrong and where.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST	(256 * 1024)	/* elements a rank */

static int rank, ranks, wrong;

static uint32_t value(int from, int to, int i, int round)
{
	return (from * 2654435761u) ^ (to * 40503u) ^ (i * 2246822519u) ^ round;
}

static void expect(const char *what, int count, int i, uint32_t got, uint32_t want)
{
	if (got != want && wrong++ < 5)
		fprintf(stderr, "rank %d: %s of %d: element %d is %08x, not %08x\n",
			rank, what, count, i, got, want);
}

static void allreduce(uint32_t *in, uint32_t *out, int count, int round)
{
	for (int i = 0; i < count; i++)
		in[i] = value(rank, 0, i, round);
	MPI_Allreduce(in, out, count, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++) {
		uint32_t sum = 0;

		for (int r = 0; r < ranks; r++)
			sum += value(r, 0, i, round);
		expect("all-reduce", count, i, out[i], sum);
	}
}

static void alltoall(uint32_t *in, uint32_t *out, int count, int round)
{
	for (int r = 0; r < ranks; r++)
		for (int i = 0; i < count; i++)
			in[r * count + i] = value(rank, r, i, round);
	MPI_Alltoall(in, count, MPI_UINT32_T, out, count, MPI_UINT32_T, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		for (int i = 0; i < count; i++)
			expect("all-to-all", count, i, out[r * count + i], value(r, rank, i, round));
}

/* several messages each way at a time, received in another order than they were sent */
static void ring(uint32_t *in, uint32_t *out, int count, int round)
{
	enum { N = 4 };
	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	MPI_Request requests[2 * N];

	for (int k = 0; k < N; k++)
		for (int i = 0; i < count / N; i++)
			in[k * (count / N) + i] = value(rank, k, i, round);
	for (int k = 0; k < N; k++)
		MPI_Irecv(out + k * (count / N), count / N, MPI_UINT32_T, last, N - k,
			  MPI_COMM_WORLD, &requests[k]);
	for (int k = 0; k < N; k++)
		MPI_Isend(in + k * (count / N), count / N, MPI_UINT32_T, next, N - k,
			  MPI_COMM_WORLD, &requests[N + k]);
	MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
	for (int k = 0; k < N; k++)
		for (int i = 0; i < count / N; i++)
			expect("ring", count, i, out[k * (count / N) + i], value(last, k, i, round));
}

/* every rank puts a part into every window, gets it back, and counts in the window of rank 0 */
static void windows(uint32_t *in, uint32_t *out, int count, int round)
{
	uint32_t *memory;
	int64_t one = 1, before, *counter;
	MPI_Win parts, counters;

	MPI_Win_allocate((MPI_Aint)ranks * count * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &parts);
	MPI_Win_allocate(sizeof(*counter), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &counters);
	*counter = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		in[i] = value(rank, 1, i, round);
	MPI_Win_lock_all(0, parts);
	for (int r = 0; r < ranks; r++)
		MPI_Put(in, count, MPI_UINT32_T, r, rank * count, count, MPI_UINT32_T, parts);
	MPI_Win_flush_all(parts);
	MPI_Get(out, count, MPI_UINT32_T, (rank + 1) % ranks, rank * count, count, MPI_UINT32_T, parts);
	MPI_Win_unlock_all(parts);
	for (int i = 0; i < count; i++)
		expect("get", count, i, out[i], in[i]);
	MPI_Win_lock_all(0, counters);
	for (int k = 0; k < 20; k++)
		MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, counters);
	MPI_Win_unlock_all(counters);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, parts);
	for (int r = 0; r < ranks; r++)
		for (int i = 0; i < count; i++)
			expect("put", count, i, memory[r * count + i], value(r, 1, i, round));
	MPI_Win_unlock(rank, parts);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, counters);
	if (!rank)
		expect("fetch-and-add", 1, 0, *counter, 20 * ranks);
	MPI_Win_unlock(rank, counters);
	MPI_Win_free(&counters);
	MPI_Win_free(&parts);
}

int main(int argc, char **argv)
{
	static const int counts[] = { 4, 64, 1000, 4099, 65536, MOST };
	uint32_t *in, *out;
	int all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	in = malloc((size_t)ranks * MOST * 4);
	out = malloc((size_t)ranks * MOST * 4);
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (unsigned int c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		allreduce(in, out, counts[c], c);
		alltoall(in, out, counts[c], c);
		ring(in, out, counts[c], c);
		windows(in, out, counts[c] / 4, c);
	}
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf(all ? "%d elements are wrong\n" : "right\n", all);
	MPI_Finalize();
	return !!all;
}
