extern "C" __global__ void scale(float *values) { values[threadIdx.x] *= 2; }

template <int size>
__global__ void reverse(float *values) {
    __shared__ float copy[size];
    copy[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = copy[size - 1 - threadIdx.x];
}

template __global__ void reverse<256>(float *);
