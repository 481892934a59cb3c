// plain.cc - Egret from C++17 and C++20: the plain functions behind the macros, and the macros themselves.
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <egret/egret.h>

namespace
{

int passed, failed;

void check(bool ok, const char *what)
{
    ok ? ++passed : ++failed;
    if (!ok) {
        std::printf("FAIL %s\n", what);
    }
}

class Scope
{
  public:
    Scope() : scope_(eg_scope_push()) {}
    ~Scope()
    {
        eg_scope_pop(scope_, nullptr);
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    eg_scope scope_;
};

struct Release {
    void operator()(eg_tensor *t) const
    {
        eg_release(t);
    }
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

void options()
{
    Scope scope;
    eg_tensor *x = eg_arange(0, 6, 1, EG_F32);
    x = eg_reshape(x, EG_SHAPE(2, 3));
    check(eg_get(eg_sum(x, .axes = EG_AXES(-1)), 1) == 12, "options in a call");
    check(eg_ndim(eg_sum(x)) == 0 && eg_ndim(eg_sum(x, .axes = EG_AXES(0, 1), .keepdim = true)) == 2,
          "none, and several");
    eg_tensor *image = eg_ones(EG_SHAPE(1, 1, 4, 4), EG_F32);
    check(eg_size(eg_max_pool2d(image, .kernels = {3, 1}, .strides = {1, 1}), 2) == 2, "options of several numbers");
    const double mean[] = {0}, deviation[] = {2};
    check(eg_get(eg_image_normalise(eg_select(image, 0, 0), mean, deviation), 0) == 0.5, "arrays");
    check(eg_ndim(eg_zeros(EG_SCALAR, EG_F32)) == 0, "the shape without axes");
}

void training()
{
    Scope scope;
    eg_module *net = eg_sequential_new(eg_linear_new(3, 4), eg_activation_new(eg_relu), eg_linear_new(4, 1));
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(net), .lr = 0.1, .momentum = 0.5);
    eg_optim_follow(sgd, &EG_SCHEDULE(.rates = {0.1}));
    eg_clear_error();
    double first = 0, last = 0;
    for (int step = 0; step < 20; step++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *y = eg_module_forward(net, eg_ones(EG_SHAPE(2, 3), EG_F32));
            eg_tensor *loss = eg_mse_loss(y, eg_ones(EG_SHAPE(2, 1), EG_F32), .reduction = EG_SUM);
            check(eg_optim_minimize(sgd, tape, loss) == EG_OK, "a step");
            (step ? last : first) = eg_item(loss);
        }
    }
    check(last < first, "the loss falls");
    eg_optim_free(sgd);
    eg_module_free(net);
}

} // namespace

int main()
{
    tensors();
    gradients();
    options();
    training();
    check(eg_memory_stats().live_tensors == 0, "nothing is left");
    std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
