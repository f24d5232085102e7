#define BOUNDS
#include "pressure.cuh"
