// The course of a matrix-vector product, shared by formats and arms.
//
// Compiled with: THREADS of a block, LANES_PER_ROW (a team), TASKS_PER_LANE of a tile, BLOCKS_PER_SM that
// registers are kept for, for the pipelined arms PIPELINED_TASKS, where its activations come from, and where
// the product goes.
//
// What lane l of a team adds up is task l, then l + LANES_PER_ROW and so on; then come a butterfly over the
// lanes and a tree over the warps. None of it depends on the arm, the layout, or TASKS_PER_LANE, so these
// give the same bits; the root of a norm is summed by all THREADS. Every operation is an explicit single
// rounding: the compiler fuses none.
#pragma once

#include "activations.cuh"
#include "destination.cuh"

template <class Format>
struct Tile {
    typename Format::Loaded tasks[TASKS_PER_LANE];

    __device__ __forceinline__ void load(const u8* row, int first, int end, int blocks) {
#pragma unroll
        for (int i = 0; i < TASKS_PER_LANE; i++)
            if (first + i * LANES_PER_ROW < end)
                tasks[i] = Format::load(row, first + i * LANES_PER_ROW, blocks);
    }

    __device__ __forceinline__ float add_to(float total, int first, int end, const Staged& staged) const {
#pragma unroll
        for (int i = 0; i < TASKS_PER_LANE; i++)
            if (first + i * LANES_PER_ROW < end)
                total = __fadd_rn(total, Format::product(tasks[i], staged, first + i * LANES_PER_ROW));
        return total;
    }
};

// Multiplies the rows of one block. A team waits for a whole tile, sends for the next one, be it of the next
// row, and then uses the first: a warp has six counters to wait on, so that loads which were sent for one
// by one between the uses share them, and are waited for too early.
//
// LOOP: whether a row may have more than one tile. Without it those behind the first are left out, and so are
// tasks from `covered` on.
template <class Format, bool LOOP>
__device__ __forceinline__ void multiply(
    const u8* __restrict__ weights, Activations activations, Destination destination, int rows, int blocks,
    int covered) {
    extern __shared__ int4 memory[];
    const Staged staged = staged_at(memory, blocks * TASKS_PER_BLOCK);
    const RowSums sums{staged.behind()};
    const int used = min(staged.tasks, covered);

    const int lane = threadIdx.x % LANES_PER_ROW;
    const int step = Destination::step(), rounds = Destination::rounds(rows);
    const int rows_end = Destination::end(rows);
    const u64 row_bytes = Format::row_bytes(blocks);
    int row = Destination::first_row() + threadIdx.x / LANES_PER_ROW;
    int first = lane, end = row < rows_end ? used : 0;

    // Weights depend on no other kernel. The branch keeps their loads ahead of the wait: without one that the
    // compiler cannot decide, the assembler moves the wait up.
    Tile<Format> next;
    let_next_kernel_start();
    if (row < rows) next.load(weights + row * row_bytes, first, end, blocks);
    wait_for_previous_kernel();
    const Destination::Fetched fetched = destination.fetch();
    activations.stage<Format>(staged);
    __syncthreads();

    float total = 0.0f;
    for (int round = 0; round < rounds;) {
        const Tile<Format> tile = next;
        const bool row_ends = !LOOP || first - lane + TASKS_PER_LANE * LANES_PER_ROW >= used;
        const int next_row = row_ends ? row + step : row;
        const int next_first = row_ends ? lane : first + TASKS_PER_LANE * LANES_PER_ROW;
        const int next_end = next_row < rows_end ? used : 0;
        next.load(weights + next_row * row_bytes, next_first, next_end, blocks);
        total = tile.add_to(total, first, end, staged);
        if (row_ends) {
            total = sum_of_lanes(total);
            if (Destination::WAITS_FOR_ALL_WARPS)
                sums.keep(round, total);
            else if (lane == 0 && row < rows_end)
                destination.store(row, total);
            round++;
            total = 0.0f;
        }
        row = next_row;
        first = next_first;
        end = next_end;
    }
    if (Destination::WAITS_FOR_ALL_WARPS) {
        __syncthreads();
        destination.finish(fetched, sums, rows);
    }
}
