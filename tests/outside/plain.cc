// plain.cc - Egret from C++17, through the plain functions behind the macros.
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <egret/egret.h>

namespace {

int passed, failed;

void check(bool ok, const char *what)
{
    ok ? ++passed : ++failed;
    if (!ok) {
        std::printf("FAIL %s\n", what);
    }
}

class Scope {
public:
    Scope() : scope_(eg_scope_push()) {}
    ~Scope() { eg_scope_pop(scope_, nullptr); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

private:
    eg_scope scope_;
};

struct Release {
    void operator()(eg_tensor *t) const { eg_release(t); }
};
using Kept = std::unique_ptr<eg_tensor, Release>;

void tensors()
{
    Scope scope;
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    eg_shape shape{2, {2, 3}};
    eg_tensor *x = eg_from(shape, EG_F32, values.data());
    check(eg_numel(x) == 6 && eg_get(x, 5) == 6, "a tensor from a vector");
    eg_reduce_options along{};
    along.size = sizeof along;
    along.axes.count = 1;
    along.axes.axis[0] = 1;
    check(eg_get(eg_sum_with(x, &along), 1) == 15, "options by hand");
    check(!eg_matmul(x, x) && eg_last_error()->code == EG_ESHAPE, "a refusal in words");
    eg_clear_error();
}

void gradients()
{
    Scope scope;
    Kept w(eg_parameter(eg_full(eg_shape{1, {3}}, 2, EG_F64)));
    eg_tape tape = eg_tape_open_with(nullptr);
    eg_tensor *y = eg_sum_with(eg_square(w.get()), nullptr), *xs[] = {w.get()}, *dw = nullptr;
    check(eg_tape_gradients_with(tape, y, xs, 1, &dw, nullptr) == EG_OK, "gradients");
    check(std::fabs(eg_get(dw, 0) - 4) < 1e-12, "their value");
}

} // namespace

int main()
{
    tensors();
    gradients();
    check(eg_memory_stats().live_tensors == 0, "nothing is left");
    std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
