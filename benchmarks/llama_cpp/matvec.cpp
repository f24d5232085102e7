// Time llama.cpp's product of a quantized matrix and the vector of one token, and check what it computes.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

constexpr int64_t kGraphBytes = int64_t{4} << 30;
constexpr int kQueuedReplays = 4;
constexpr int kSamples = 20;
constexpr int64_t kCheckedRows = 1024;
constexpr double kRoundings = 4;
constexpr int kGroup = 32;  // vector elements that share one factor once they are rounded to 8 bits

struct Shape {
    ggml_type type;
    int64_t rows, columns, copies;

    size_t row_bytes() const { return ggml_row_size(type, columns); }

    // Whole rounds over the copies, so that the last product reads the last copy.
    int64_t products(int64_t graph_bytes) const {
        const int64_t round_bytes = copies * rows * static_cast<int64_t>(row_bytes());
        return copies * ((graph_bytes + round_bytes - 1) / round_bytes);
    }
};

// What some rows of a product are in float, and how far rounding the vector to 8 bits may take them.
struct Expected {
    std::vector<int64_t> rows;
    std::vector<double> product;
    double rounding = 0;  // expected norm of the difference over all these rows
};

struct Times {
    double best, median;
};

Shape parse_shape(const std::string & text) {
    char format[8];
    long long rows, columns, copies;
    int length = 0;
    const int fields = std::sscanf(text.c_str(), "%7[^:]:%lld:%lld:%lld%n", format, &rows, &columns, &copies, &length);
    const bool known = fields == 4 && (std::string(format) == "q6_K" || std::string(format) == "q4_K");
    if (!known || static_cast<size_t>(length) != text.size() || rows < 1 || columns < 256 || columns % 256 ||
        copies < 1) {
        throw std::invalid_argument(
            text + ": expected FORMAT:ROWS:COLUMNS:COPIES, FORMAT q6_K or q4_K, COLUMNS a multiple of 256");
    }
    return {std::string(format) == "q6_K" ? GGML_TYPE_Q6_K : GGML_TYPE_Q4_K, rows, columns, copies};
}

// Any bytes are valid quants and scales; only the float16 factors of a block must be drawn as numbers.
std::vector<uint8_t> random_matrix(const Shape & shape, uint64_t seed) {
    const size_t block_bytes = ggml_type_size(shape.type);
    std::vector<uint8_t> bytes(shape.rows * shape.row_bytes() + sizeof(uint64_t));
    std::mt19937_64 drawn(seed);
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
        const uint64_t word = drawn();
        std::memcpy(&bytes[at], &word, sizeof word);
    }
    bytes.resize(shape.rows * shape.row_bytes());
    const size_t factors = shape.type == GGML_TYPE_Q6_K ? 1 : 2;
    const size_t first = shape.type == GGML_TYPE_Q6_K ? block_bytes - sizeof(ggml_fp16_t) : 0;
    std::uniform_real_distribution<float> factor(0.5f / 1024, 1.5f / 1024);
    std::minstd_rand drawn_factors(static_cast<unsigned>(seed + 1));
    for (size_t block = 0; block < bytes.size(); block += block_bytes) {
        for (size_t index = 0; index < factors; ++index) {
            const ggml_fp16_t half = ggml_fp32_to_fp16(factor(drawn_factors));
            std::memcpy(&bytes[block + first + index * sizeof half], &half, sizeof half);
        }
    }
    return bytes;
}

Expected expect(const Shape & shape, const std::vector<uint8_t> & matrix, const std::vector<float> & vector) {
    std::vector<double> step_variance(shape.columns / kGroup);
    for (size_t group = 0; group < step_variance.size(); ++group) {
        float largest = 0;
        for (int index = 0; index < kGroup; ++index) {
            largest = std::max(largest, std::fabs(vector[group * kGroup + index]));
        }
        // A rounding error is uniform over one step: variance step^2 / 12.
        step_variance[group] = largest / 127.0 * (largest / 127.0) / 12;
    }
    Expected expected;
    const int64_t count = std::min(shape.rows, kCheckedRows);
    std::vector<float> weights(shape.columns);
    double variance = 0;
    for (int64_t index = 0; index < count; ++index) {
        const int64_t row = count == 1 ? 0 : index * (shape.rows - 1) / (count - 1);
        const uint8_t * quantized = &matrix[row * shape.row_bytes()];
        ggml_get_type_traits(shape.type)->to_float(quantized, weights.data(), shape.columns);
        double product = 0;
        for (int64_t column = 0; column < shape.columns; ++column) {
            const double weight = weights[column];
            product += weight * vector[column];
            variance += weight * weight * step_variance[column / kGroup];
        }
        expected.rows.push_back(row);
        expected.product.push_back(product);
    }
    expected.rounding = std::sqrt(variance);
    return expected;
}

// Rows share the vector's rounding errors, and weights of one sign add them up: one draw for all rows, so the
// norm may well be twice the expected one. Four times it is below what a single lost group of 32 makes.
double checked_error(const Expected & expected, const ggml_tensor * output, const std::string & title) {
    std::vector<float> computed(ggml_nelements(output));
    ggml_backend_tensor_get(output, computed.data(), 0, ggml_nbytes(output));
    double difference = 0, norm = 0;
    for (size_t index = 0; index < expected.rows.size(); ++index) {
        const double error = computed[expected.rows[index]] - expected.product[index];
        difference += error * error;
        norm += expected.product[index] * expected.product[index];
    }
    difference = std::sqrt(difference);
    if (!(difference <= kRoundings * expected.rounding)) {
        throw std::runtime_error(title + ": differs from the dequantized product by a norm of " +
                                 std::to_string(difference) + ", rounding the vector explains " +
                                 std::to_string(expected.rounding));
    }
    return difference / std::sqrt(norm);
}

using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using Buffer = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using Backend = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;

Context make_context(size_t bytes) {
    return Context(ggml_init({bytes, nullptr, /*no_alloc=*/true}), ggml_free);
}

Buffer allocate(const Context & context, const Backend & backend) {
    Buffer buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend.get()), ggml_backend_buffer_free);
    if (!buffer) {
        throw std::runtime_error("not enough device memory");
    }
    return buffer;
}

void enqueue(const Backend & backend, ggml_cgraph * graph) {
    if (ggml_backend_graph_compute_async(backend.get(), graph) != GGML_STATUS_SUCCESS) {
        throw std::runtime_error("the graph failed");
    }
}

// Wall clock, since ggml keeps its stream private and its events without timing. Replays are queued behind
// each other: what the host does for one is hidden by the one before, as in a decoding llama.cpp.
Times time_products(const Backend & backend, ggml_cgraph * graph, int64_t products) {
    // ggml runs a graph once as it is, captures it the second time and replays it from the third on.
    for (int run = 0; run < 3; ++run) {
        enqueue(backend, graph);
    }
    ggml_backend_synchronize(backend.get());
    std::vector<double> microseconds;
    for (int sample = 0; sample < kSamples; ++sample) {
        const auto start = std::chrono::steady_clock::now();
        for (int replay = 0; replay < kQueuedReplays; ++replay) {
            enqueue(backend, graph);
        }
        ggml_backend_synchronize(backend.get());
        const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
        microseconds.push_back(passed.count() / static_cast<double>(kQueuedReplays * products));
    }
    std::sort(microseconds.begin(), microseconds.end());
    return {microseconds.front(), (microseconds[kSamples / 2 - 1] + microseconds[kSamples / 2]) / 2};
}

bool captured = false;

void log_line(ggml_log_level level, const char * text, void *) {
    // The backend tells in no other way that it goes over to CUDA graphs.
    captured = captured || std::strstr(text, "CUDA graph warmup complete");
    if (level == GGML_LOG_LEVEL_WARN || level == GGML_LOG_LEVEL_ERROR) {
        std::fputs(text, stderr);
    }
}

void measure(const Backend & backend, const Shape & shape) {
    const ggml_backend_dev_t device = ggml_backend_get_device(backend.get());
    const bool on_cpu = ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU;
    const int64_t products = shape.products(on_cpu ? 1 : kGraphBytes);  // the CPU only checks this program
    const std::string title = std::string(ggml_type_name(shape.type)) + " " + std::to_string(shape.rows) + "x" +
                              std::to_string(shape.columns);

    const Context weights = make_context(ggml_tensor_overhead() * shape.copies);
    std::vector<ggml_tensor *> matrices;
    for (int64_t copy = 0; copy < shape.copies; ++copy) {
        matrices.push_back(ggml_new_tensor_2d(weights.get(), shape.type, shape.columns, shape.rows));
    }
    const Buffer weight_buffer = allocate(weights, backend);
    ggml_backend_buffer_set_usage(weight_buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);

    const Context context = make_context(ggml_tensor_overhead() * (products + 1) +
                                         ggml_graph_overhead_custom(2 * products, /*grads=*/false));
    ggml_tensor * input = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, shape.columns, 1);
    ggml_cgraph * graph = ggml_new_graph_custom(context.get(), 2 * products, /*grads=*/false);
    std::vector<ggml_tensor *> outputs;
    for (int64_t product = 0; product < products; ++product) {
        outputs.push_back(ggml_mul_mat(context.get(), matrices[product % shape.copies], input));
        ggml_build_forward_expand(graph, outputs.back());
    }
    const Buffer buffer = allocate(context, backend);
    ggml_backend_buffer_clear(buffer.get(), 0xff);  // NaN, where no product is written

    std::mt19937_64 drawn(std::chrono::system_clock::now().time_since_epoch().count());
    std::vector<float> vector(shape.columns);
    std::normal_distribution<float> normal;
    std::generate(vector.begin(), vector.end(), [&] { return normal(drawn); });
    ggml_backend_tensor_set(input, vector.data(), 0, ggml_nbytes(input));
    Expected first, last;
    for (int64_t copy = 0; copy < shape.copies; ++copy) {
        const std::vector<uint8_t> matrix = random_matrix(shape, drawn());
        ggml_backend_tensor_set(matrices[copy], matrix.data(), 0, matrix.size());
        if (copy == 0) {
            first = expect(shape, matrix, vector);
        }
        if (copy == shape.copies - 1) {
            last = expect(shape, matrix, vector);
        }
    }

    captured = false;
    const Times times = time_products(backend, graph, products);
    const double error =
        std::max(checked_error(first, outputs.front(), title), checked_error(last, outputs.back(), title));
    if (!captured && !on_cpu) {
        throw std::runtime_error(title + ": ggml did not replay a CUDA graph; build with GGML_CUDA_GRAPHS=ON and unset "
                                         "GGML_CUDA_DISABLE_GRAPHS");
    }
    std::printf("{\"format\": \"%s\", \"rows\": %lld, \"columns\": %lld, \"copies\": %lld, \"products\": %lld, "
                "\"best_microseconds\": %.3f, \"median_microseconds\": %.3f, \"relative_error\": %.2e, "
                "\"cuda_graph\": %s, \"ggml\": \"%s\", \"device\": \"%s\"}\n",
                ggml_type_name(shape.type), static_cast<long long>(shape.rows), static_cast<long long>(shape.columns),
                static_cast<long long>(shape.copies), static_cast<long long>(products), times.best, times.median, error,
                captured ? "true" : "false", ggml_version(), ggml_backend_dev_description(device));
    std::fflush(stdout);
}

}  // namespace

int main(int count, char ** arguments) {
    try {
        const bool named = count > 2 && std::string(arguments[1]) == "--device";
        const std::string name = named ? arguments[2] : "CUDA0";
        std::vector<Shape> shapes;
        for (int index = named ? 3 : 1; index < count; ++index) {
            shapes.push_back(parse_shape(arguments[index]));
        }
        if (shapes.empty()) {
            throw std::invalid_argument("usage: llama_cpp_matvec [--device CUDA0] FORMAT:ROWS:COLUMNS:COPIES...");
        }
        ggml_log_set(log_line, nullptr);
        const Backend backend(ggml_backend_init_by_name(name.c_str(), nullptr), ggml_backend_free);
        if (!backend) {
            throw std::runtime_error("ggml has no device " + name);
        }
        for (const Shape & shape : shapes) {
            measure(backend, shape);
        }
    } catch (const std::exception & error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
