extern "C" __global__ void scale(float *values) {
    values[threadIdx.x] *= factor;
}
