// q4_K x q8 in CUDA C++: one arm that loops, so it covers any row of whole blocks.
#include "../kquants/matvec.cuh"
#include "q4k.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    cuda_mmvq_q4k(const u8* weights, ACTIVATION_PARAMETERS, DESTINATION_PARAMETERS, int rows, int blocks) {
    multiply<Q4K, true>(weights, ACTIVATIONS, DESTINATION, rows, blocks, blocks * TASKS_PER_BLOCK);
}
